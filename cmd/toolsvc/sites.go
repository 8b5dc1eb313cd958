package main

import "toolsvc/executors/browser/guard"

// siteFlags say where the browser may go.
type siteFlags struct {
	AllowSite            []string `help:"The only sites that the browser may connect to, its pages' own requests too: example.com, *.example.com, an address, a network (10.1.0.0/16), each with :port or for all ports." env:"TOOLSVC_ALLOW_SITE" placeholder:"site"`
	DenySite             []string `help:"Sites that it may not connect to; wins over --allow-site." env:"TOOLSVC_DENY_SITE" placeholder:"site"`
	AllowPrivateNetworks bool     `help:"Let the browser connect to private networks (10.0.0.0/8, 192.168.0.0/16, …). Metadata services and link-local addresses are never opened." env:"TOOLSVC_ALLOW_PRIVATE_NETWORKS"`
	DenyLoopback         bool     `help:"Keep the browser from what is served on this machine." env:"TOOLSVC_DENY_LOOPBACK"`
}

// policy is what the flags come to. A list that cannot be understood is a mistake in usage.
func (f siteFlags) policy() (guard.Policy, error) {
	p := guard.Policy{Allow: f.AllowSite, Deny: f.DenySite, PrivateNetworks: f.AllowPrivateNetworks, NoLoopback: f.DenyLoopback}
	if _, err := guard.New(p); err != nil {
		return p, usage("%w", err)
	}
	return p, nil
}
