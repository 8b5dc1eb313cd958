package planner

import "toolsvc/tool"

// classify names what an attempt that went all the way failed with, "" when it is verified.
//
// An action whose effect is proven none has no_effect, whatever its checks say: nothing happened, so nothing else can be wrong. Tools
// that only read have no effect by their nature; what fails there is the verification.
func classify(class tool.EffectClass, v tool.Verdict, effect tool.Effect) tool.Failure {
	switch {
	case v == tool.VerdictSuccess:
		return ""
	case class != tool.ReadOnly && effect == tool.EffectNone:
		return tool.NoEffect
	case v == tool.VerdictFailure:
		return tool.VerificationFailed
	}
	return tool.VerificationUncertain
}

// worthWaiting reports whether fresh evidence may still turn the verdict into success: something is under way, or unknown. A proven
// "nothing happened" does not change by waiting.
func worthWaiting(class tool.EffectClass, v tool.Verdict, effect tool.Effect) bool {
	return v != tool.VerdictSuccess && (class == tool.ReadOnly || effect != tool.EffectNone)
}

// worthRollingBack reports whether what an attempt left must be undone. After an uncertain verdict the action may have succeeded, so
// nothing is undone then.
func worthRollingBack(class tool.EffectClass, v tool.Verdict, effect tool.Effect) bool {
	return class != tool.ReadOnly && v == tool.VerdictFailure && effect != tool.EffectNone
}
