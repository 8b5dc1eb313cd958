//go:build linux

package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const somewhere = `
mkdir -p src/deep empty
printf 'one\ntwo\n' > a.txt
printf 'package main\n' > src/main.go
printf 'helper\n' > src/deep/helper.go
head -c 200000 /dev/zero | tr '\0' x > src/large.txt
printf 'script\n' > run.sh; chmod 755 run.sh
ln -s a.txt link; ln link link2; ln -s nowhere dangling; ln -s src dirlink
printf shared > h1; ln h1 h2; ln h1 src/h3
printf alone > solo
printf same > s1; printf same > s2
mkfifo pipe
touch -d '2020-01-02 03:04:05.678901234' a.txt src/main.go src
`

// After a restore, everything is as it was: content, mode, owner, times, links. Whatever way it was changed.
func TestRestoreBringsBackWhatACommandChanged(t *testing.T) {
	t.Parallel()
	for name, attempt := range map[string]string{
		"nothing":                           `true`,
		"append in place":                   `echo three >> a.txt`,
		"same size, old time":               `printf 'ONE\nTWO\n' > a.txt; touch -d '2020-01-02 03:04:05.678901234' a.txt`,
		"truncate":                          `: > src/large.txt`,
		"sed -i":                            `sed -i s/one/uno/ a.txt`,
		"create":                            `echo new > new.txt; mkdir -p x/y; echo deep > x/y/z`,
		"delete":                            `rm a.txt src/deep/helper.go pipe link`,
		"delete a directory":                `rm -r src`,
		"delete everything":                 `rm -rf ./* `,
		"rename a file":                     `mv a.txt b.txt`,
		"rename over":                       `mv a.txt solo`,
		"rename same content over":          `mv s1 s2`,
		"swap same content":                 `mv s1 t; mv s2 s1; mv t s2`,
		"swap":                              `mv a.txt t; mv solo a.txt; mv t solo`,
		"rename a directory":                `mv src lib`,
		"rename and change":                 `mv src lib; echo more >> lib/main.go; rm lib/deep/helper.go`,
		"directory into itself":             `mkdir in; mv src in/src; mv in src`,
		"mode":                              `chmod 600 a.txt; chmod 644 run.sh; chmod 700 src; chmod 4755 solo`,
		"time":                              `touch a.txt src/main.go; touch -d 2001-01-01 solo; touch -h link`,
		"symlink retargeted":                `ln -sfn solo link; ln -sfn empty dirlink`,
		"file to directory":                 `rm a.txt; mkdir a.txt; echo in > a.txt/in`,
		"directory to file":                 `rm -r src; echo file > src`,
		"directory to link":                 `mv src old; ln -s old src; echo through >> src/main.go`,
		"file to link":                      `rm a.txt; ln -s /etc/hostname a.txt`,
		"pipe to file":                      `rm pipe; echo x > pipe`,
		"empty directory":                   `rmdir empty; mkdir -p other/empty`,
		"hard link made":                    `ln a.txt a2; ln -f solo src/main.go`,
		"hard link broken":                  `cp h1 t; mv t h2`,
		"hard link all broken":              `for f in h1 h2 src/h3; do cp $f t; mv t $f; done`,
		"hard link deleted":                 `rm h1`,
		"hard links all deleted":            `rm h1 h2 src/h3`,
		"hard link written":                 `echo more >> h2`,
		"hard link written and one removed": `echo more >> h2; rm h1`,
		"hard links crossed":                `ln -f a.txt h1; ln -f h2 a.txt`,
		"hard link moved":                   `mv h1 moved; mv h2 h1`,
		"links between equal files":         `ln -f s1 s2`,
		"equal files with linked":           `cp h1 t; ln -f t h1; ln -f t h2; rm t`,
		"a temporary file":                  `touch src/tmp; rm src/tmp`,
		"git":                               `git init -q g; cd g; echo x > f; git add f; git -c user.name=n -c user.email=e commit -qm m`,
		"strange names":                     `touch -- $'a\nb' ' ' '-rf' 'ünï' $'\xff'; mkdir $'d\n'; touch $'d\n/x'`,
		"root":                              `chmod 711 .`,
		"linked links":                      `mkdir l; mv link link2 l; ln -sfn solo l/link; mkfifo p; ln p p2; ln pipe pipe2`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, root := opened(t, somewhere, func(o *Options) { o.Ignore = []string{} })
			before := picture(t, root)
			from := snap(t, w)
			sh(t, root, attempt)
			after := snap(t, w)
			got, err := w.Restore(context.Background(), from, after)
			if err != nil {
				t.Fatal(err)
			}
			samePicture(t, "after the restore", before, picture(t, root))
			if !got.Complete() {
				t.Errorf("the restore says that it is not complete: %+v", got)
			}
			if (len(got.Changes) == 0) != (name == "nothing" || name == "a temporary file") && name != "swap same content" { // whose times may differ
				t.Errorf("changes: %+v", got.Changes)
			}
			again, err := w.Restore(context.Background(), from, after)
			if err != nil || !again.Complete() {
				t.Errorf("a second restore: %+v, %v", again, err)
			}
			samePicture(t, "after the second restore", before, picture(t, root))
		})
	}
}

// What something else changed after the attempt is never overwritten, and then nothing else is restored either.
func TestRestoreRefusesWhatSomethingElseChanged(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ attempt, other, path, why, diff string }{
		"edited":              {`echo ours >> a.txt; echo b > b`, `echo theirs >> a.txt`, "a.txt", "changed by something else", "+theirs"},
		"created, edited":     {`echo ours > new`, `echo theirs >> new`, "new", "changed by something else", "+theirs"},
		"deleted, made anew":  {`rm a.txt`, `echo theirs > a.txt`, "a.txt", "created by something else", ""},
		"edited, deleted":     {`echo ours >> a.txt`, `rm a.txt`, "a.txt", "deleted by something else", ""},
		"mode":                {`echo ours >> a.txt`, `chmod 600 a.txt`, "a.txt", "mode or owner", ""},
		"in a new directory":  {`mkdir d; echo x > d/x`, `echo theirs > d/y`, "d/y", "directory that the attempt made", ""},
		"directory replaced":  {`rm src/main.go`, `mv src old; ln -s old src`, "src", "directory was replaced", ""},
		"same size, old time": {`printf ours > solo; touch -d 2020-01-01 solo`, `printf them > solo; touch -d 2020-01-01 solo`, "solo", "changed by something else", ""},
		"another name":        {`rm h1`, `echo theirs >> h2`, "h2", "shares its content with h1", ""},
		"another name saved":  {`rm h1`, `echo theirs > t; mv t h2`, "h2", "shares its content with h1", ""},
		"link retargeted":     {`ln -sfn solo link`, `ln -sfn run.sh link`, "link", "changed by something else", ""},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, root := opened(t, somewhere)
			from := snap(t, w)
			sh(t, root, c.attempt)
			after := snap(t, w)
			sh(t, root, c.other)
			before := picture(t, root)
			_, err := w.Restore(context.Background(), from, after)
			var refused *Refused
			if !errors.As(err, &refused) {
				t.Fatalf("not refused: %v", err)
			}
			samePicture(t, "a refused restore changed something", before, picture(t, root))
			k := refused.Conflicts[0]
			if k.Path != c.path || !strings.Contains(k.Why, c.why) || !strings.Contains(k.Diff, c.diff) {
				t.Errorf("conflict: %+v", k)
			}
			if !strings.Contains(err.Error(), "rollback_refused") || !strings.Contains(err.Error(), c.path) {
				t.Errorf("error: %v", err)
			}
		})
	}
}

// What somebody does elsewhere in the folder meanwhile stays, and does not stand in the way.
func TestRestoreLeavesAloneWhatTheAttemptDidNotTouch(t *testing.T) {
	t.Parallel()
	w, root := opened(t, somewhere)
	from := snap(t, w)
	sh(t, root, `echo ours >> a.txt; rm -r src/deep; mkdir mine; touch mine/x`)
	after := snap(t, w)
	sh(t, root, `echo theirs >> solo; echo theirs > src/theirs; mkdir theirs; chmod 600 run.sh; touch -d 2002-02-02 src`)
	got, err := w.Restore(context.Background(), from, after)
	if err != nil || !got.Complete() {
		t.Fatalf("%+v, %v", got, err)
	}
	sh(t, root, `test "$(cat solo)" = "alonetheirs"; test "$(cat src/theirs)" = theirs; test -d theirs; test "$(stat -c %a run.sh)" = 600
		test "$(cat a.txt)" = "$(printf 'one\ntwo')"; test -f src/deep/helper.go; test ! -e mine`)
}

// What is ignored is watched: a result never says that all is as before when it is not, or names what it could not cover.
func TestIgnoredIsNeverPassedOverInSilence(t *testing.T) {
	t.Parallel()
	const fill = somewhere + `mkdir -p .git/objects node_modules/p/lib; echo ref > .git/HEAD; echo x > node_modules/p/lib/i.js; echo secret > s.sock; mkdir big; head -c 5000 /dev/zero > big/blob`
	tests := map[string]struct {
		attempt   string
		uncovered []string // nil: complete
		check     string
	}{
		"untouched":           {attempt: `echo x >> a.txt`},
		"changed":             {`echo x >> a.txt; echo other > .git/HEAD`, []string{".git/HEAD"}, `test "$(cat .git/HEAD)" = other`},
		"deleted":             {`rm -r node_modules`, []string{"node_modules", "node_modules/p", "node_modules/p/lib", "node_modules/p/lib/i.js"}, `test ! -e node_modules`},
		"created inside":      {attempt: `echo new > node_modules/p/new; mkdir -p .git/refs/heads; echo x > .git/refs/heads/main`},
		"created anew":        {attempt: `mkdir -p src/node_modules/q; echo x > src/node_modules/q/i.js`},
		"moved":               {attempt: `mv node_modules elsewhere`},
		"mode":                {attempt: `chmod 600 .git/HEAD`},
		"too large changed":   {`echo x >> big/blob`, []string{"big/blob"}, ``},
		"too large created":   {attempt: `head -c 9000 /dev/zero > src/blob2`},
		"grown too large":     {attempt: `head -c 9000 /dev/zero >> a.txt`},
		"too large moved":     {attempt: `mv big/blob src/blob`},
		"too large, old time": {`touch -r big/blob ref; printf x | dd of=big/blob conv=notrunc status=none; touch -r ref big/blob; rm ref`, []string{"big/blob"}, ``},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, root := opened(t, strings.ReplaceAll(fill, "head -c 200000", "head -c 3000"), func(o *Options) { o.MaxFileBytes = 4096 })
			before := picture(t, root)
			from := snap(t, w)
			if len(from.Uncovered) != 3 {
				t.Errorf("the snapshot names as uncovered: %+v", from.Uncovered)
			}
			sh(t, root, c.attempt)
			got, err := w.Restore(context.Background(), from, snap(t, w))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, u := range got.Uncovered {
				names = append(names, u.Path)
			}
			if strings.Join(names, " ") != strings.Join(c.uncovered, " ") || got.Complete() != (c.uncovered == nil) {
				t.Errorf("uncovered: %v; complete: %t (%+v)", names, got.Complete(), got)
			}
			sh(t, root, c.check)
			now := picture(t, root)
			for _, u := range c.uncovered {
				for _, p := range []string{u, filepath.Dir(u)} {
					delete(before, p)
					delete(now, p)
				}
			}
			samePicture(t, "what is covered", before, now)
		})
	}
}

// A folder that is too large to be watched makes no claim possible.
func TestUnwatchedMakesARestoreIncomplete(t *testing.T) {
	t.Parallel()
	w, root := opened(t, `mkdir node_modules; touch node_modules/{1..50}; echo x > a; mkdir b; echo y > b/c`, func(o *Options) { o.MaxWatched = 20 })
	from := snap(t, w)
	sh(t, root, `rm node_modules/1; touch node_modules/new; echo more >> a`)
	got, err := w.Restore(context.Background(), from, snap(t, w))
	if err != nil {
		t.Fatal(err)
	}
	if got.Complete() || len(got.Unseen) != 1 || got.Unseen[0] != "node_modules" {
		t.Errorf("%+v", got)
	}
	sh(t, root, `test "$(cat a)" = x; test -e node_modules/new; test ! -e node_modules/1`)
}

// A name outside of the workspace sees the restored content too: the file is written in place.
func TestHardLinkFromOutside(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	w, root := opened(t, `echo content > inside; echo x > other`)
	if err := os.Link(filepath.Join(root, "inside"), outside); err != nil {
		t.Fatal(err)
	}
	before := picture(t, root)
	from := snap(t, w)
	sh(t, root, `echo more >> inside; ln inside twin`)
	if got, err := w.Restore(context.Background(), from, snap(t, w)); err != nil || !got.Complete() {
		t.Fatalf("%+v, %v", got, err)
	}
	samePicture(t, "inside", before, picture(t, root))
	if text, err := os.ReadFile(outside); err != nil || string(text) != "content\n" {
		t.Errorf("outside: %q, %v", text, err)
	}
}

// A symbolic link that an attempt puts where a directory was leads nothing out of the workspace.
func TestNoLinkLeadsOut(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	sh(t, outside, `echo precious > main.go; mkdir deep; echo precious > deep/helper.go`)
	w, root := opened(t, somewhere)
	kept, before := picture(t, outside), picture(t, root)
	from := snap(t, w)
	sh(t, root, `rm -r src; ln -s `+outside+` src`)
	if got, err := w.Restore(context.Background(), from, snap(t, w)); err != nil || !got.Complete() {
		t.Fatalf("%+v, %v", got, err)
	}
	samePicture(t, "inside", before, picture(t, root))
	samePicture(t, "outside", kept, picture(t, outside))
}

// Extended attributes are part of the state.
func TestExtendedAttributes(t *testing.T) {
	t.Parallel()
	w, root := opened(t, `echo x > a; echo y > b`)
	a, b := filepath.Join(root, "a"), filepath.Join(root, "b")
	if err := syscall.Setxattr(a, "user.note", []byte("kept"), 0); err != nil {
		t.Skipf("the file system of the temporary directory has no extended attributes: %v", err)
	}
	before := picture(t, root)
	from := snap(t, w)
	for path, note := range map[string]string{a: "other", b: "new"} {
		if err := syscall.Setxattr(path, "user.note", []byte(note), 0); err != nil {
			t.Fatal(err)
		}
	}
	sh(t, root, `echo more >> a`)
	if got, err := w.Restore(context.Background(), from, snap(t, w)); err != nil || !got.Complete() || len(got.Changes) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	samePicture(t, "after the restore", before, picture(t, root))
}
