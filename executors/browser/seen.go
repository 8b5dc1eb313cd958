package browser

import (
	"context"

	"toolsvc/tool"
)

var _ tool.Pictured = (*attempt)(nil)

// Picture implements tool.Pictured: the viewport as a person sees it. Password fields show dots there, as the browser draws them.
func (a *attempt) Picture(ctx context.Context) (png []byte, scale float64, err error) {
	err = a.guard(ctx, func(ctx context.Context) error {
		png, err = a.tab.Screenshot(ctx, nil)
		return err
	})
	return png, a.x.opts.DeviceScaleFactor, err
}
