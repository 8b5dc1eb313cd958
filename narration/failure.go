package narration

import "toolsvc/tool"

// FailureText words a failure for people, as the narration does when nothing is known of what stood in the way.
func FailureText(f tool.Failure, lang string) string { return Match(lang).why(Trouble{Failure: f}) }

// SourceText is what a source looks at, for people; its badge is the same in all languages.
func SourceText(s tool.Source, lang string) string { return Match(lang).source(s) }
