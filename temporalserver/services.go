package temporalserver

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
	"go.uber.org/fx"
)

// services are the server's four services, running.
type services struct{ server temporal.Server }

// startServices builds and starts the server. It runs on a goroutine of its own, because what the server calls fatal (a port that is
// taken, say) ends the goroutine that it happens on; see [serverLogger.Fatal].
func startServices(ctx context.Context, cfg *config.Config, hosts map[primitives.ServiceName]static.Hosts, logger serverLogger) (*services, error) {
	fatal := make(chan error, 1)
	report := logger.fatal
	logger.fatal = func(err error) {
		select {
		case fatal <- err:
		default:
		}
		report(err)
	}
	type outcome struct {
		server *temporal.ServerFx
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		returned := false
		defer func() {
			if crash := recover(); crash != nil {
				o.err = fmt.Errorf("%w: panic while starting: %v\n%s", ErrServerFailed, crash, debug.Stack())
			} else if !returned {
				o.err = <-fatal
			}
			done <- o
		}()
		o.server, o.err = temporal.NewServerFx(serverModule(), serverOptions(cfg, hosts, logger)...)
		if o.err == nil {
			o.err = o.server.Start()
		}
		returned = true
	}()
	o := <-done // bounded by the server: twice joinWithin
	if o.err == nil {
		o.err = ctx.Err()
	}
	if o.err == nil {
		return &services{server: o.server}, nil
	}
	select {
	case cause := <-fatal:
		o.err = cause // a service that ended its goroutine is only reported as "exited" by the others
	default:
	}
	if o.server != nil {
		_ = (&services{server: o.server}).stop(stopWithin) // what failed to start need not stop well; the start's error is what counts
	}
	return nil, o.err
}

// serverModule is the server's own composition without its span exporters. It would read OTEL_TRACES_EXPORTER, which belongs to
// toolsvc's own tracing, and refuse to start on values that it does not know (console), or send its spans along with ours.
func serverModule() fx.Option {
	return fx.Options(
		temporal.TopLevelModule,
		fx.Decorate(func() []sdktrace.SpanExporter { return nil }),
	)
}

func serverOptions(cfg *config.Config, hosts map[primitives.ServiceName]static.Hosts, logger serverLogger) []temporal.ServerOption {
	return []temporal.ServerOption{
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts),
		temporal.WithLogger(logger),
		temporal.WithNamespaceLogger(logger),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return authorization.NewNoopClaimMapper() }),
		temporal.WithDynamicConfigClient(tuning()),
	}
}

// stop ends the services, and fails when that takes longer than within.
func (s *services) stop(within time.Duration) error {
	done := make(chan error, 1)
	var once sync.Once
	go func() {
		defer once.Do(func() { done <- ErrServerFailed }) // its goroutine was ended by a fatal log record
		err := s.server.Stop()
		once.Do(func() { done <- err })
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(within):
		return fmt.Errorf("its services have not ended after %s", within)
	}
}
