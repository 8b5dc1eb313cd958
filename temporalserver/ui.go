package temporalserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	uiapi "github.com/temporalio/ui-server/v2/server/api"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/csrf"
	"github.com/temporalio/ui-server/v2/server/headers"
	"github.com/temporalio/ui-server/v2/server/route"
	uiassets "github.com/temporalio/ui-server/v2/ui"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	// uiHeaderTimeout bounds the reading of a request's header.
	uiHeaderTimeout = 10 * time.Second
	// uiStopWithin is how long requests to the UI may go on when the server stops.
	uiStopWithin = time.Second
	// uiMaxMessage bounds an answer of the frontend to the UI, in bytes.
	uiMaxMessage = 64 << 20
)

// ui is Temporal's web UI on a listener of our own: the UI's own server ends the process when its port is taken.
type ui struct {
	url      string
	server   *http.Server
	frontend *grpc.ClientConn
}

func startUI(address string, o Options, lastPort int, failures *failures) (*ui, error) {
	listener, err := listen("Temporal's web UI", o.UIPort, lastPort)
	if err != nil {
		return nil, err
	}
	frontend, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(uiMaxMessage)))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare a connection from the web UI to %s: %w", address, err), listener.Close())
	}
	handler, err := uiHandler(&uiconfig.Config{
		TemporalGRPCAddress: address,
		DefaultNamespace:    o.Namespace,
		EnableUI:            true,
		HideLogs:            true,
		DisableNewsFetch:    true,                                // asks the maker's site otherwise
		CORS:                uiconfig.CORS{CookieInsecure: true}, // loopback is plain HTTP
	}, frontend)
	if err != nil {
		return nil, errors.Join(err, frontend.Close(), listener.Close())
	}
	u := &ui{url: "http://" + listener.Addr().String(), frontend: frontend, server: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: uiHeaderTimeout,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelWarn),
	}}
	go func() {
		if err := u.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			failures.report(fmt.Errorf("%w: web UI: %w", ErrServerFailed, err))
		}
	}()
	return u, nil
}

// uiHandler puts the UI together as its own server does, without the parts for logins and path prefixes, and with a check of the host.
func uiHandler(cfg *uiconfig.Config, frontend *grpc.ClientConn) (http.Handler, error) {
	provider, err := uiconfig.NewConfigProviderWithRefresh(cfg)
	if err != nil {
		return nil, fmt.Errorf("configure the web UI: %w", err)
	}
	assets, err := uiassets.Assets()
	if err == nil {
		assets, err = fs.Sub(assets, "local")
	}
	if err != nil {
		return nil, fmt.Errorf("open the web UI's files: %w", err)
	}
	e := echo.New()
	e.Use(loopbackHost, middleware.Recover(), middleware.Gzip(), middleware.Secure(), csrf.EnsureTokenCookie(false),
		middleware.CSRFWithConfig(csrf.MiddlewareConfig(provider, false)))
	route.SetHealthRoute(e)
	api := e.Group("/api/v1")
	api.GET("/settings", uiapi.GetSettings(provider))
	api.GET(uiapi.WorkflowRawHistoryUrl, uiapi.WorkflowRawHistoryHandler(workflowservice.NewWorkflowServiceClient(frontend)))
	forward := headers.WithForwardHeaders([]string{"Caller-Type"})
	api.Match([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, "/*",
		uiapi.TemporalAPIHandler(provider, []uiapi.Middleware{forward}, frontend))
	if err := route.SetUIRoutes(e, "", assets); err != nil {
		return nil, fmt.Errorf("serve the web UI's files: %w", err)
	}
	route.SetRenderRoute(e, "")
	return e, nil
}

// loopbackHost refuses requests whose Host is not a loopback name. Otherwise any web page could make its own name resolve to 127.0.0.1
// and read and stop workflows with its visitor's browser (DNS rebinding).
func loopbackHost(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		host := c.Request().Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		switch host {
		case "localhost", "127.0.0.1", "::1", "[::1]":
			return next(c)
		}
		return echo.NewHTTPError(http.StatusForbidden, "this UI answers on loopback names only: use localhost or 127.0.0.1")
	}
}

// stop lets requests finish for a moment, then cuts them off.
func (u *ui) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), uiStopWithin)
	defer cancel()
	err := u.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = u.server.Close()
	}
	if err = errors.Join(err, u.frontend.Close()); err != nil {
		return fmt.Errorf("stop the web UI: %w", err)
	}
	return nil
}
