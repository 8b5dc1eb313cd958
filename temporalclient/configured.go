package temporalclient

import "go.temporal.io/sdk/contrib/envconfig"

// Configured reports whether Temporal's own environment configuration (variables, or the file and profile that they name) says where
// Temporal is. A configuration that cannot be read counts, so that [Dial] can say what is wrong with it.
func Configured() bool {
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{})
	return err != nil || profile.Address != ""
}
