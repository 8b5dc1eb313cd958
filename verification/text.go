package verification

import (
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// textFunctions binds the functions on text whose result can be far larger than their input, or whose time can be far longer, to
// versions that check it first. What they compute is the same as in cel-go's strings library; what would be too large is an error,
// which leaves the condition undecided.
func textFunctions() []cel.EnvOption {
	text, number, texts := cel.StringType, cel.IntType, cel.ListType(cel.StringType)
	str := func(v ref.Val) string { return string(v.(types.String)) }
	integer := func(v ref.Val) int { return int(v.(types.Int)) }
	bind := func(f func(args ...ref.Val) ref.Val) cel.OverloadOpt { return cel.FunctionBinding(f) }
	return []cel.EnvOption{
		cel.Function("replace",
			cel.MemberOverload("string_replace_string_string", []*cel.Type{text, text, text}, text,
				bind(func(a ...ref.Val) ref.Val { return replace(str(a[0]), str(a[1]), str(a[2]), -1) })),
			cel.MemberOverload("string_replace_string_string_int", []*cel.Type{text, text, text, number}, text,
				bind(func(a ...ref.Val) ref.Val { return replace(str(a[0]), str(a[1]), str(a[2]), integer(a[3])) }))),
		cel.Function("split",
			cel.MemberOverload("string_split_string", []*cel.Type{text, text}, texts,
				cel.BinaryBinding(func(s, sep ref.Val) ref.Val { return split(str(s), str(sep), -1) })),
			cel.MemberOverload("string_split_string_int", []*cel.Type{text, text, number}, texts,
				bind(func(a ...ref.Val) ref.Val { return split(str(a[0]), str(a[1]), integer(a[2])) }))),
		cel.Function("join",
			cel.MemberOverload("list_join", []*cel.Type{texts}, text, cel.UnaryBinding(func(l ref.Val) ref.Val { return join(l, "") })),
			cel.MemberOverload("list_join_string", []*cel.Type{texts, text}, text,
				cel.BinaryBinding(func(l, sep ref.Val) ref.Val { return join(l, str(sep)) }))),
		cel.Function("indexOf",
			cel.MemberOverload("string_index_of_string", []*cel.Type{text, text}, number,
				cel.BinaryBinding(func(s, sub ref.Val) ref.Val { return indexOf(str(s), str(sub), 0) })),
			cel.MemberOverload("string_index_of_string_int", []*cel.Type{text, text, number}, number,
				bind(func(a ...ref.Val) ref.Val { return indexOf(str(a[0]), str(a[1]), integer(a[2])) }))),
		cel.Function("lastIndexOf",
			cel.MemberOverload("string_last_index_of_string", []*cel.Type{text, text}, number,
				cel.BinaryBinding(func(s, sub ref.Val) ref.Val { return lastIndexOf(str(s), str(sub), 0, true) })),
			cel.MemberOverload("string_last_index_of_string_int", []*cel.Type{text, text, number}, number,
				bind(func(a ...ref.Val) ref.Val { return lastIndexOf(str(a[0]), str(a[1]), integer(a[2]), false) }))),
		// CEL's model charges the product of both lengths, which would rule out looking for a long text; Go searches in linear time.
		cel.CostModel(cost.MemberOverload(overloads.ContainsString,
			cost.EvalCost(cost.Scale(cost.Sum(cost.Target(), cost.Arg(0)), cost.StringTraversalCostFactor)))),
	}
}

func tooLarge(what string) ref.Val {
	return types.NewErr("%s would have more than the %d bytes that a condition may make", what, maxText)
}

func replace(s, old, with string, n int) ref.Val {
	times := strings.Count(s, old)
	if n >= 0 {
		times = min(times, n)
	}
	if grows := len(with) - len(old); grows > 0 && times > (maxText-min(len(s), maxText))/grows {
		return tooLarge("the text after replace")
	}
	return types.String(strings.Replace(s, old, with, n))
}

func split(s, sep string, n int) ref.Val {
	parts := strings.Count(s, sep) + 1
	if n >= 0 {
		parts = min(parts, n)
	}
	if parts > maxParts {
		return types.NewErr("split makes %d parts, more than the %d allowed", parts, maxParts)
	}
	return types.NewStringList(types.DefaultTypeAdapter, strings.SplitN(s, sep, n))
}

func join(list ref.Val, sep string) ref.Val {
	l := list.(traits.Lister)
	size, ok := l.Size().(types.Int)
	if !ok || size > maxParts {
		return types.NewErr("join takes at most %d parts", maxParts)
	}
	var b strings.Builder
	for i := range size {
		part, ok := l.Get(i).(types.String)
		if !ok {
			return types.NewErr("join takes text only")
		}
		if b.Len()+len(sep)+len(part) > maxText {
			return tooLarge("the joined text")
		}
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(string(part))
	}
	return types.String(b.String())
}

// indexOf finds sub at or behind the character at offset; positions count characters. -1 when there is none.
func indexOf(s, sub string, offset int) ref.Val {
	if offset < 0 {
		return types.NewErr("index out of range: %d", offset)
	}
	start := byteOffset(s, offset)
	if sub == "" {
		return types.Int(utf8.RuneCountInString(s[:start]))
	}
	i := strings.Index(s[start:], sub)
	if i < 0 {
		return types.Int(-1)
	}
	return types.Int(utf8.RuneCountInString(s[:start+i]))
}

// lastIndexOf finds the last sub that starts at or before the character at offset, anywhere when all is set.
func lastIndexOf(s, sub string, offset int, all bool) ref.Val {
	if offset < 0 {
		return types.NewErr("index out of range: %d", offset)
	}
	count := utf8.RuneCountInString(s)
	switch {
	case sub == "" && (all || offset > count):
		return types.Int(count)
	case sub == "":
		return types.Int(offset)
	case !all && offset >= count:
		return types.Int(-1)
	}
	end := len(s)
	if !all {
		end = byteOffset(s, offset+min(utf8.RuneCountInString(sub), count))
	}
	i := strings.LastIndex(s[:end], sub)
	if i < 0 {
		return types.Int(-1)
	}
	return types.Int(utf8.RuneCountInString(s[:i]))
}

// byteOffset is where the n-th character of s starts, the end of s when it has fewer.
func byteOffset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}
