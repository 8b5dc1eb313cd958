// Package kitchensink declares a toolset that uses every construct a design can use. What is generated from it stands in gen/, is
// compiled with the rest, and is what the tests of the generated codecs run against. Package codegen's tests write it: go test
// ./toolset/codegen -update.
package kitchensink

import (
	"fmt"
	"math"

	. "goa.design/goa/v3/dsl"

	. "toolsvc/toolset/dsl"
)

// GenPackage is the import path of gen/.
const GenPackage = "toolsvc/toolset/codegen/internal/kitchensink/gen"

// Design declares the toolset.
func Design() {
	// Aliases of every kind, with rules of their own.
	var Slug = Type("Slug", String, func() {
		Description("A name for addresses")
		Pattern(`^[a-z][a-z0-9-]*$`)
		MaxLength(12)
	})
	var Share = Type("Share", Float64, func() {
		Minimum(0)
		Maximum(1)
	})
	var Count = Type("Count", Int, func() {
		Minimum(0)
		Maximum(10)
	})
	var Tags = Type("Tags", ArrayOf(Slug), func() {
		MaxLength(3)
	})
	var Labels = Type("Labels", MapOf(Slug, String, func() {
		Elem(func() { MaxLength(5) })
	}), func() {
		MaxLength(2)
	})

	var Point = Type("Point", func() {
		Attribute("x", Int32)
		Attribute("y", Int32, func() { Default(7) })
		Attribute("label", String, func() { MaxLength(4) })
		Required("x")
	})

	var Located = Type("Located", func() {
		Attribute("city", String, func() { MinLength(2) })
		Attribute("point", Point)
		Attribute("code", UInt32)
		AtLeastOne("city", "point")
		AtLeastOne("point", "code")
	})

	var Choice = Type("Choice", func() {
		OneOf("pick", "One of several", func() {
			Attribute("point", Point)
			Attribute("word", String, func() { Enum("yes", "no") })
			Attribute("count", Int, func() { Minimum(1) })
			Attribute("tags", Tags)
			Attribute("inline", func() {
				Attribute("deep", Boolean)
				Required("deep")
			})
		})
		Required("pick")
	})

	Type("Node", func() {
		Description("A tree")
		Attribute("name", Slug)
		Attribute("children", ArrayOf("Node"), func() { MaxLength(3) })
		Attribute("by_name", MapOf(String, "Node"))
		Attribute("next", "Node")
		OneOf("leaf", func() {
			Attribute("number", Int)
			Attribute("node", "Node")
		})
		Required("name")
	})

	var Credentials = Type("Credentials", func() {
		Attribute("user", String)
		Attribute("password", String, func() {
			MinLength(8)
			Secret()
		})
		Attribute("pins", ArrayOf(Int, func() {
			Maximum(9999)
			Secret()
		}))
		Attribute("keys", MapOf(String, Bytes, func() {
			Elem(func() { Secret() })
		}))
		Attribute("vault", func() {
			Attribute("inner", String)
			Required("inner")
		})
		Required("user", "password")
	})

	var Clash = Type("ClashPayload", func() {
		Attribute("new", Int, func() { Default(1) })
	})
	Type("NewClashPayload", func() { Attribute("clash", Clash) })

	Toolset("kitchen", func() {
		Description("Every construct of a design.")

		Tool("strings", "Everything that a string can be.", func() {
			Args(func() {
				Attribute("plain", String)
				Attribute("short", String, "At most five", func() {
					MinLength(2)
					MaxLength(5)
				})
				Attribute("exact", String, func() {
					MinLength(3)
					MaxLength(3)
				})
				Attribute("slug", Slug)
				Attribute("narrow", Slug, func() { Enum("one", "two") })
				Attribute("folded", String, func() { Pattern(`(?i)^caf\x{e9}\.?$`) })
				Attribute("dotted", String, func() { Pattern(`^a.c$`) })
				Attribute("spaced", String, func() { Pattern(`\s`) })
				Attribute("color", String, func() { Enum("red", "green", "light \"blue\"", "") })
				Attribute("both", String, func() {
					Enum("aa", "bbbb", "cc1")
					Pattern(`^[a-z]+$`)
					MaxLength(3)
				})
				Attribute("date", String, func() { Format(FormatDate) })
				Attribute("date_time", String, func() { Format(FormatDateTime) })
				Attribute("uuid", String, func() { Format(FormatUUID) })
				Attribute("email", String, func() {
					Format(FormatEmail)
					MaxLength(12)
				})
				Attribute("hostname", String, func() { Format(FormatHostname) })
				Attribute("ipv4", String, func() { Format(FormatIPv4) })
				Attribute("ipv6", String, func() { Format(FormatIPv6) })
				Attribute("ip", String, func() { Format(FormatIP) })
				Attribute("uri", String, func() { Format(FormatURI) })
				Attribute("mac", String, func() { Format(FormatMAC) })
				Attribute("cidr", String, func() { Format(FormatCIDR) })
				Attribute("regexp", String, func() { Format(FormatRegexp) })
				Attribute("json", String, func() { Format(FormatJSON) })
				Attribute("rfc1123", String, func() { Format(FormatRFC1123) })
				Attribute("defaulted", String, func() {
					Default("tick ` and \"quote\"")
					MinLength(1)
				})
				Attribute("slug_default", Slug, func() { Default("abc") })
				Required("plain")
				Example(Val{"plain": "a `tick`", "color": "light \"blue\""})
			})
			Return(func() {
				Attribute("text", String, func() { MaxLength(10) })
				Attribute("slug", Slug)
				Attribute("kind", String, func() {
					Enum("a", "b")
					Default("a")
				})
				Required("text")
				Example(Val{"text": "ok"})
			})
			Effect(ReadOnly)
		})

		Tool("numbers", "Everything that a number can be.", func() {
			Args(func() {
				Attribute("int", Int)
				Attribute("int32", Int32)
				Attribute("int64", Int64)
				Attribute("uint", UInt)
				Attribute("uint32", UInt32)
				Attribute("uint64", UInt64)
				Attribute("float32", Float32)
				Attribute("float64", Float64)
				Attribute("bool", Boolean)
				Attribute("small", Int, func() {
					Minimum(-3)
					Maximum(100)
				})
				Attribute("open", Int32, func() {
					ExclusiveMinimum(0)
					ExclusiveMaximum(10)
				})
				Attribute("huge", Int64, func() {
					ExactMinimum(int64(-9007199254740993))
					ExactMaximum(int64(9007199254740993))
				})
				Attribute("vast", UInt64, func() {
					Minimum(1)
					ExactMaximum(uint64(math.MaxUint64 - 1))
				})
				Attribute("share", Share)
				Attribute("half", Share, func() { Enum(0.0, 0.5) })
				Attribute("count", Count)
				Attribute("few", Count, func() {
					ExactMinimum(-5)
					ExactMaximum(5)
				})
				Attribute("ratio", Float64, func() {
					ExclusiveMinimum(-0.1)
					ExclusiveMaximum(1.1)
				})
				Attribute("single", Float32, func() {
					Minimum(0.1)
					Maximum(2.5)
				})
				Attribute("int_enum", Int, func() { Enum(1, 2, -3) })
				Attribute("uint_enum", UInt64, func() { Enum(uint64(0), uint64(math.MaxUint64)) })
				Attribute("float_enum", Float64, func() { Enum(0.1, 1.5, 2.0) })
				Attribute("bool_enum", Boolean, func() { Enum(true) })
				Attribute("int_default", Int, func() { Default(-5) })
				Attribute("uint_default", UInt64, func() { Default(uint64(1 << 63)) })
				Attribute("float_default", Float32, func() { Default(0.25) })
				Attribute("bool_default", Boolean, func() { Default(true) })
				Example(Val{"int": 1, "float64": 2.5})
			})
			Return(func() {
				Attribute("int32", Int32)
				Attribute("uint64", UInt64)
				Attribute("single", Float32, func() { Maximum(0.1) })
				Attribute("double", Float64)
				Attribute("flag", Boolean)
				Required("double")
			})
			Effect(ReadOnly)
		})

		Tool("containers", "Arrays, maps, bytes and values of any type.", func() {
			Args(func() {
				Attribute("list", ArrayOf(String, func() { MaxLength(3) }), func() {
					MinLength(1)
					MaxLength(3)
				})
				Attribute("matrix", ArrayOf(ArrayOf(Int, func() { Maximum(9) })), func() { MaxLength(2) })
				Attribute("points", ArrayOf(Point))
				Attribute("tags", Tags)
				Attribute("map", MapOf(String, Int32), func() {
					MinLength(1)
					MaxLength(2)
				})
				Attribute("keyed", MapOf(String, String, func() {
					Key(func() {
						Pattern(`^[a-z]+$`)
						MaxLength(4)
					})
					Elem(func() { Enum("on", "off") })
				}))
				Attribute("by_slug", MapOf(Slug, Point))
				Attribute("labels", Labels)
				Attribute("nested", MapOf(String, ArrayOf(MapOf(String, Boolean))))
				Attribute("data", Bytes, func() {
					MinLength(1)
					MaxLength(6)
				})
				Attribute("anything", Any)
				Attribute("anythings", ArrayOf(Any), func() { MaxLength(2) })
				Attribute("any_map", MapOf(String, Any))
				Attribute("list_default", ArrayOf(String), func() { Default([]string{"a", "b"}) })
				Attribute("map_default", MapOf(String, Int), func() { Default(map[string]int{"z": 1, "a": 2}) })
				Attribute("data_default", Bytes, func() { Default([]byte("hi")) })
				Attribute("any_default", Any, func() { Default(map[string]any{"a": []any{1, "x", nil, true}}) })
				Attribute("point_default", Point, func() { Default(Val{"x": 3}) })
				Attribute("points_default", ArrayOf(Point), func() { Default([]Val{{"x": 1, "label": "q"}}) })
				Example(Val{"list": []string{"a"}, "matrix": [][]int{{1}, {2, 3}}, "data": []byte("abc"), "by_slug": map[string]any{"a": Val{"x": 1}}})
			})
			Return(func() {
				Attribute("list", ArrayOf(String), func() { MaxLength(2) })
				Attribute("map", MapOf(String, Point))
				Attribute("data", Bytes)
				Attribute("anything", Any)
				Attribute("tags", Tags)
				Required("list", "map", "data", "anything")
			})
			Effect(ReadOnly)
		})

		Tool("objects", "Objects in objects, unions, and groups of fields.", func() {
			Args(func() {
				Attribute("point", Point)
				Attribute("located", Located)
				Attribute("choice", Choice)
				Attribute("choices", ArrayOf(Choice), func() { MaxLength(2) })
				Attribute("empty", func() { Attribute("x", Any) })
				Attribute("inline", func() {
					Attribute("a", func() {
						Attribute("b", Int)
						Required("b")
					})
					Attribute("c", ArrayOf(Located))
				})
				OneOf("either", func() {
					Attribute("name", String)
					Attribute("number", Int)
				})
				Attribute("left", String)
				Attribute("right", String)
				AtLeastOne("left", "right", "point")
				Required("choice")
				Example(Val{"choice": Val{"pick": Val{"word": "yes"}}, "left": "l"})
			})
			Return(Choice)
			Effect(Idempotent)
			EffectWhen(Irreversible, `has(args.left) && args.left == "all"`)
		})

		Tool("tree", "Types that hold themselves.", func() {
			Args(func() {
				Attribute("root", "Node")
				Attribute("nodes", MapOf(String, ArrayOf("Node")))
				Required("root")
				Example(Val{"root": Val{"name": "a", "children": []Val{{"name": "b"}}}})
			})
			Return("Node")
			Effect(ReadOnly)
		})

		Tool("secrets", "Values that are never shown.", func() {
			Args(func() {
				Extend(Credentials)
				Attribute("backup", Credentials)
				Attribute("tokens", ArrayOf(String), func() {
					Secret()
					MaxLength(2)
				})
				Example(Val{"user": "ada", "password": "correct horse"})
			})
			Return(func() {
				Attribute("token", String, func() {
					Secret()
					MaxLength(4)
				})
			})
			Effect(Reversible)
			Sources(AX, CDP, Vision, Hotkey, System)
			Precondition("logged_out", `page.url == "/login"`, "nobody is logged in")
			Postcondition("logged_in", `result.token != "" && args.user.size() > 0`, "the user is logged in")
			Postcondition("no_error", `page.errors.all(e, e in before.page.errors)`, "no error appeared")
			Confirm("Log in as this user?")
			Ask("Which user?")
			Rollback("Logs out again.")
			TimeLimit("1500ms")
		})

		Tool("wide", "More fields than a word has bits.", func() {
			Args(func() {
				for i := range 70 {
					Attribute(fmt.Sprintf("f%02d", i), Int)
				}
				Required("f00", "f63", "f64", "f69")
				AtLeastOne("f01", "f65")
				Example(Val{"f00": 0, "f63": 63, "f64": 64, "f69": 69, "f65": 1})
			})
			Effect(ReadOnly)
		})

		Tool("plain", "No argument and no result of its own.", func() {
			Effect(ReadOnly)
			TimeLimit("24h")
		})

		Tool("clash", "Field names that Go or the codec uses.", func() {
			Args(func() {
				Attribute("purpose", String)
				Attribute("expectations", ArrayOf(String))
				Attribute("type", String)
				Attribute("a_b", Int)
				Attribute("a__b", Int)
				Attribute("client", Point)
				Attribute("tags", ArrayOf(String, func() { MaxLength(3) }))
				Attribute("tags_item", String, func() { MaxLength(4) })
				Attribute("clash", Clash)
				Attribute("new_clash", "NewClashPayload")
			})
			Return(func() {
				Attribute("specs", func() { Attribute("error", String) })
			})
			Effect(ReadOnly)
		})
	})
}
