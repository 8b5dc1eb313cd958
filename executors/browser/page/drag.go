package page

import (
	"context"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/input"

	"toolsvc/executors/browser/devtools"
)

// Point is a place in the viewport, in CSS pixels.
type Point struct{ X, Y float64 }

// How a drag moves: a first step that is longer than the distance from which browsers and pages take a press for a drag, then evenly.
const (
	dragFirst = 8.0
	dragSteps = 12
)

// dragBegins bounds the wait for the browser to say that the page's element is dragged in the way of HTML.
const dragBegins = 500 * time.Millisecond

// Press presses the left button at a point, and holds it.
func (t *Tab) Hold(ctx context.Context, at Point) error {
	if err := t.pointer(ctx, input.DispatchMouseEventTypeMouseMoved, at, 0); err != nil {
		return err
	}
	return t.pointer(ctx, input.DispatchMouseEventTypeMousePressed, at, 1)
}

// pointer sends one event of the left button and waits until the page has taken it.
func (t *Tab) pointer(ctx context.Context, typ input.DispatchMouseEventType, at Point, buttons int64) error {
	ev := input.DispatchMouseEventParams{Type: typ, X: at.X, Y: at.Y, Buttons: buttons}
	if typ != input.DispatchMouseEventTypeMouseMoved || buttons != 0 {
		ev.Button = "left"
	}
	if typ != input.DispatchMouseEventTypeMouseMoved {
		ev.ClickCount = 1
	}
	if err := ack(ctx, devtools.Start(t.session, input.DispatchMouseEvent, ev)); err != nil {
		return fmt.Errorf("%s at (%.0f, %.0f): %w", typ, at.X, at.Y, err)
	}
	return nil
}

// InterceptDrags makes a drag of the HTML kind something that this process carries out; otherwise the operating system would, which is
// absent here.
func (t *Tab) InterceptDrags(ctx context.Context, yes bool) error {
	t.mu.Lock()
	t.dragged = nil
	t.mu.Unlock()
	if _, err := devtools.Call(ctx, t.session, input.SetInterceptDrags, input.SetInterceptDragsParams{Enabled: yes}); err != nil {
		return fmt.Errorf("watch for drags: %w", because(ctx, err))
	}
	return nil
}

// Pull moves the held mouse away from a point far enough for a drag to begin, towards another point.
func (t *Tab) Pull(ctx context.Context, from, to Point) error {
	dx, dy := to.X-from.X, to.Y-from.Y
	step := Point{from.X, from.Y}
	switch {
	case abs(dx) >= abs(dy) && dx > 0:
		step.X += min(dragFirst, dx)
	case abs(dx) >= abs(dy):
		step.X -= min(dragFirst, -dx)
	case dy > 0:
		step.Y += min(dragFirst, dy)
	default:
		step.Y -= min(dragFirst, -dy)
	}
	return t.pointer(ctx, input.DispatchMouseEventTypeMouseMoved, step, 1)
}

// Dragged waits for what is dragged in the way of HTML; nil when the browser tells of nothing.
func (t *Tab) Dragged(ctx context.Context) *input.DragData {
	wait, cancel := context.WithTimeout(ctx, dragBegins)
	defer cancel()
	_ = t.await(wait, func() bool { return t.dragged != nil }) // nothing came: the caller sees
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dragged
}

// Carry moves the held mouse on to a point, in steps.
func (t *Tab) Carry(ctx context.Context, from, to Point) error {
	for i := 1; i <= dragSteps; i++ {
		f := float64(i) / dragSteps
		if err := t.pointer(ctx, input.DispatchMouseEventTypeMouseMoved, Point{from.X + (to.X-from.X)*f, from.Y + (to.Y-from.Y)*f}, 1); err != nil {
			return err
		}
	}
	return t.pointer(ctx, input.DispatchMouseEventTypeMouseMoved, to, 1) // pages that measure a distance between moves see a rest
}

// Release lets the button go.
func (t *Tab) Release(ctx context.Context, at Point) error {
	return t.pointer(ctx, input.DispatchMouseEventTypeMouseReleased, at, 0)
}

// Drop carries what is dragged in the way of HTML to a point, and drops it there.
func (t *Tab) Drop(ctx context.Context, from, to Point, data *input.DragData) error {
	over := func(p Point, typ input.DispatchDragEventType) error {
		return ack(ctx, devtools.Start(t.session, input.DispatchDragEvent, input.DispatchDragEventParams{Type: typ, X: p.X, Y: p.Y, Data: data}))
	}
	if err := over(from, input.DispatchDragEventTypeDragEnter); err != nil {
		return fmt.Errorf("drag from (%.0f, %.0f): %w", from.X, from.Y, err)
	}
	for i := 1; i < 4; i++ {
		f := float64(i) / 4
		if err := over(Point{from.X + (to.X-from.X)*f, from.Y + (to.Y-from.Y)*f}, input.DispatchDragEventTypeDragOver); err != nil {
			return fmt.Errorf("drag over the page: %w", err)
		}
	}
	return t.dropAt(ctx, to.X, to.Y, data)
}

// dropAt lets data come in over a point and drops it there.
func (t *Tab) dropAt(ctx context.Context, x, y float64, data *input.DragData) error {
	for _, typ := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		if err := ack(ctx, devtools.Start(t.session, input.DispatchDragEvent, input.DispatchDragEventParams{Type: typ, X: x, Y: y, Data: data})); err != nil {
			return fmt.Errorf("%s at (%.0f, %.0f): %w", typ, x, y, err)
		}
	}
	return nil
}

func abs(f float64) float64 {
	if f < 0 {
		return -f
	}
	return f
}
