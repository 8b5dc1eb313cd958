package verification

// The bounds of a condition's text.
const (
	// MaxExpectations is how many conditions a caller may give with one call.
	MaxExpectations = 32
	// MaxExpression bounds one condition, in characters.
	MaxExpression = 2000
	// maxDepth bounds the nesting of an expression, as the parser counts it.
	maxDepth = 60
	// maxNodes bounds the expression's syntax tree, macros expanded.
	maxNodes = 1000
	// maxRegex bounds the compiled program of a regular expression, in instructions.
	maxRegex = 500
	// maxProblems bounds the issues that are reported for one expression.
	maxProblems = 8
)

// The bounds of what one condition may read. Larger evidence leaves the condition undecided.
const (
	// maxText bounds one string, in bytes.
	maxText = 1 << 20
	// maxItems bounds one list or map.
	maxItems = 1000
	// maxParts bounds the lists that split makes and join takes.
	maxParts = 2000
	// maxNested bounds how deep lists and maps nest in values without a declared type.
	maxNested = 32
	// maxValues bounds how many values such a value holds in all.
	maxValues = 20_000
	// maxElements is how many different elements the conditions of one call may look at.
	maxElements = 50
)

// The bounds of evaluation, in units of CEL's cost model; a unit takes up to about 20 ns.
const (
	// maxCost ends an evaluation that has become too expensive.
	maxCost = 2_000_000
	// maxEstimate rejects an expression before it runs, when it could take more operations on the largest evidence allowed.
	maxEstimate = 20_000_000
)

// The bounds of receipts.
const (
	// maxShown bounds each "name = value" of an observation and each expectation in words, in bytes.
	maxShown = 300
	// maxReads bounds how many values an observation shows.
	maxReads = 6
	// maxGot bounds the expression in an issue, in bytes, as [tool.Issue] wants it.
	maxGot = 128
)

// The bounds of what is kept compiled.
const (
	maxCachedSpecs       = 256
	maxCachedExpressions = 128 // for each spec
)
