package gemini

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 8 << 20

var errTooLarge = errors.New("the answer is too large")

// exchange is what genai does not pass on of an HTTP exchange: the body as it came, because genai turns the numbers in a function call's
// arguments into floats, and the header that says when to come back.
type exchange struct {
	status     int
	body       []byte
	retryAfter time.Duration
}

type exchangeKey struct{}

// transport bounds answers, and keeps them for the exchange in the request's context.
type transport struct{ base http.RoundTripper }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // what of the answer was read is judged; the rest is given up
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxAnswer {
		return nil, errTooLarge
	}
	if x, ok := r.Context().Value(exchangeKey{}).(*exchange); ok {
		x.status, x.body = res.StatusCode, body
		if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
			x.retryAfter = min(time.Duration(min(s, 1<<20))*time.Second, 24*time.Hour)
		}
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// confined is a copy of an HTTP client that keeps answers within bounds, and follows no redirect: a redirect would take the key along.
func confined(c *http.Client) *http.Client {
	out := &http.Client{}
	if c != nil {
		*out = *c
	}
	base := out.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	out.Transport = transport{base}
	out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return out
}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}
