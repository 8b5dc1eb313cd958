package repair

// Rule is a kind of correction, as [tool.Repair] names it.
type Rule struct {
	Name, Tier string
	// Meaning says in one sentence what is corrected, and what is not.
	Meaning string
}

// The rules of the syntax tier.
const (
	ruleBOM        = "byte_order_mark"
	ruleFence      = "markdown_fence"
	ruleProse      = "surrounding_text"
	ruleEscaped    = "escaped_text"
	ruleComment    = "comment"
	ruleSpace      = "odd_space"
	ruleTrailing   = "trailing_comma"
	ruleComma      = "missing_comma"
	ruleSingle     = "single_quotes"
	ruleSmart      = "smart_quotes"
	ruleUnquoted   = "unquoted_key"
	rulePython     = "python_literal"
	ruleNumberForm = "number_form"
	ruleControl    = "raw_control_character"
	ruleDuplicate  = "identical_duplicate"
	ruleBracket    = "missing_bracket"
	ruleSurplus    = "surplus_bracket"
)

// The rules of the lossless tier.
const (
	ruleUnwrapped  = "unwrapped"
	ruleJSONObject = "json_text_to_object"
	ruleJSONArray  = "json_text_to_array"
	ruleSpelling   = "field_name_spelling"
	ruleMisspelt   = "field_name_misspelt"
	ruleInteger    = "string_to_integer"
	ruleNumber     = "string_to_number"
	ruleBoolean    = "string_to_boolean"
	ruleString     = "integer_to_string"
	ruleArray      = "value_to_array"
	ruleArrayOfOne = "array_of_one"
	ruleNull       = "null_to_absent"
	ruleEnum       = "enum_spelling"
	ruleDateTime   = "date_time_form"
	ruleTrimmed    = "trimmed"
)

// The rules of the tiers beyond.
const (
	ruleChanged = "value_changed"
	ruleAdded   = "value_added"
	ruleRemoved = "value_removed"
)

// Rules lists all rules of the syntax and lossless tiers, in the order of the reference documentation, and those of the tiers beyond.
func Rules() []Rule {
	return []Rule{
		{ruleBOM, TierSyntax, "A byte order mark at the start is dropped."},
		{ruleFence, TierSyntax, "Markdown fences around the one document are dropped."},
		{ruleProse, TierSyntax, "Words before and after the one object are dropped. They must not hold braces, and not be a piece of a larger document."},
		{ruleEscaped, TierSyntax, "The inside of a JSON string without its quotes is read as what it stands for."},
		{ruleComment, TierSyntax, "Comments are dropped: `//`, `#`, `/* */`."},
		{ruleSpace, TierSyntax, "White space that JSON does not know, such as a no-break space, counts as a space between tokens."},
		{ruleTrailing, TierSyntax, "A comma before a closing bracket is dropped. Two commas in a row are not: something may be missing between them."},
		{ruleComma, TierSyntax, "A comma that is missing before the next key, or between two objects or arrays, is added. Between strings or numbers it is not."},
		{ruleSingle, TierSyntax, "Strings in single quotes are read. An apostrophe inside that is not escaped leaves two readings, and so none."},
		{ruleSmart, TierSyntax, "Strings in typographic quotes are read, unless more quotes stand inside."},
		{ruleUnquoted, TierSyntax, "A key without quotes is read, if it is a name. A value without quotes is not."},
		{rulePython, TierSyntax, "`True`, `False` and `None` are `true`, `false` and `null`."},
		{ruleNumberForm, TierSyntax, "`+5`, `.5` and `5.` are 5, 0.5 and 5. `NaN`, `Infinity`, `007`, `1_000` and `0x10` stay errors."},
		{ruleControl, TierSyntax, "A line break or tab inside a string is escaped."},
		{ruleDuplicate, TierSyntax, "Of two members with the same name and the same value one is kept. Different values stay an issue."},
		{ruleBracket, TierSyntax, "A missing closing bracket is added where there is one place for it that makes the payload valid. At the end of the text it is added only when nothing can have been cut off: a closing fence follows, or the object has all its fields."},
		{ruleSurplus, TierSyntax, "Closing brackets after the end are dropped."},

		{ruleUnwrapped, TierLossless, "The payload is taken out of an envelope: `arguments`, `input`, `params` and the like, alone or with the name of this tool, and those of MCP and of model vendors. A call of another tool stays an error."},
		{ruleJSONObject, TierLossless, "A string that holds an object as JSON text is that object, where an object is wanted."},
		{ruleJSONArray, TierLossless, "The same for arrays, unless the string itself could be the only element."},
		{ruleSpelling, TierLossless, "The name of a field in other case or with other separators is that field, if the object does not have it."},
		{ruleMisspelt, TierLossless, "A name that is one slip away from one absent field only is that field, if the value is valid there. A slip is two letters swapped or one doubled; of a field that is required and missing, any one letter. Words of fewer than five letters, another first letter or digit, words that other APIs use in names (`county` for `country`), and the names of other fields are no slips."},
		{ruleInteger, TierLossless, "A string that is a JSON number is that number."},
		{ruleNumber, TierLossless, "The same where any number is wanted. `5.0` is an integer as it stands; `1,5`, `5 ms` and `50%` stay errors."},
		{ruleBoolean, TierLossless, "`true` and `false` as a string, in any case, are booleans. `yes`, `on` and 1 stay errors."},
		{ruleString, TierLossless, "An integer of up to 15 digits is its digits where a string is wanted. Longer ones and fractions may have lost digits on their way (1.10, 12345678901234567890), so they stay errors."},
		{ruleArray, TierLossless, "A value is an array of one where an array of such values is wanted."},
		{ruleArrayOfOne, TierLossless, "An array of one is its element where one such value is wanted."},
		{ruleNull, TierLossless, "null is the absence of an optional field; its default applies, if it has one."},
		{ruleEnum, TierLossless, "A value that equals one allowed value but for case, separators and white space around it is that value."},
		{ruleDateTime, TierLossless, "A moment in another form of ISO 8601 is written as RFC 3339 has it. One without a time zone stays an error."},
		{ruleTrimmed, TierLossless, "White space around a value with a format is dropped."},

		{ruleChanged, TierModel, "A value was replaced; also with tier person."},
		{ruleAdded, TierModel, "A value was added; also with tier person."},
		{ruleRemoved, TierModel, "An unknown field was dropped; also with tier person."},
	}
}
