package tool

// EffectClass is what a tool may do to the world, as declared in its design. It bounds healing: what may be repeated, what must
// be rolled back before a repetition, and what needs an approval.
type EffectClass string

// The effect classes, from harmless to grave.
const (
	// ReadOnly changes nothing: it may be repeated at any time.
	ReadOnly EffectClass = "read_only"
	// Idempotent leads to the same state however often it is done: it may be repeated, even after an unknown outcome.
	Idempotent EffectClass = "idempotent"
	// Reversible may be repeated only after its effect is proven none, or is rolled back and the rollback is proven.
	Reversible EffectClass = "reversible"
	// Irreversible is dispatched at most once per approval and idempotency key.
	Irreversible EffectClass = "irreversible"
)

// EffectClasses lists all classes, from harmless to grave.
var EffectClasses = []EffectClass{ReadOnly, Idempotent, Reversible, Irreversible}

// Repeatable reports whether a call of this class may be dispatched again although an earlier dispatch may have had its effect.
func (c EffectClass) Repeatable() bool { return c == ReadOnly || c == Idempotent }

// Effect is what is known of the effect of one attempt.
type Effect string

const (
	// EffectNone: proven that nothing changed.
	EffectNone Effect = "none"
	// EffectConfirmed: something changed, and it was observed.
	EffectConfirmed Effect = "confirmed"
	// EffectUnknown: dispatched, and no evidence decides.
	EffectUnknown Effect = "unknown"
)

// Phase is how far an attempt came.
type Phase string

const (
	// PhaseStarted: nothing was found yet, nothing was dispatched.
	PhaseStarted Phase = "started"
	// PhaseResolved: the target is known and passed the gate; nothing was dispatched.
	PhaseResolved Phase = "resolved"
	// PhaseDispatched: the action was sent; its effect may have happened.
	PhaseDispatched Phase = "dispatched"
	// PhaseSettled: the action was sent, and the world has come to rest again.
	PhaseSettled Phase = "settled"
)

// Dispatched reports whether the action may have reached the world.
func (p Phase) Dispatched() bool { return p == PhaseDispatched || p == PhaseSettled }

// Source is how an attempt finds what to act on.
type Source string

const (
	// SourceAX is the accessibility tree.
	SourceAX Source = "ax"
	// SourceCDP is the DOM, searched inside the page through the Chrome DevTools Protocol.
	SourceCDP Source = "cdp"
	// SourceVision is a screenshot, read by a model or by OCR.
	SourceVision Source = "vision"
	// SourceHotkey is the keyboard: no target is looked for.
	SourceHotkey Source = "hotkey"
	// SourceSystem is a direct command (a navigation, a process): no target is looked for.
	SourceSystem Source = "system"
)

// Sources lists all sources; the grounding sources come first, in the order in which healing tries them.
var Sources = []Source{SourceAX, SourceCDP, SourceVision, SourceHotkey, SourceSystem}

// Badge is the name of the source as people read it beside a narrated step.
func (s Source) Badge() string {
	switch s {
	case SourceAX:
		return "AX"
	case SourceCDP:
		return "CDP"
	case SourceVision:
		return "Vision"
	case SourceHotkey:
		return "Hotkey"
	}
	return "System"
}

// Input is how an action is sent to its target. After a click that provably had no effect, the next attempt uses another one.
type Input string

const (
	// InputMouse sends mouse events at a point that passed the hit test.
	InputMouse Input = "mouse"
	// InputKeyboard focuses the target and sends the key that activates it.
	InputKeyboard Input = "keyboard"
)
