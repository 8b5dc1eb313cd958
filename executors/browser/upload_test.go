package browser

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// inWorkspace writes a file into the workspace of the shared browser.
func inWorkspace(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(workspace, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const reader = `<script>const read=async l=>{for(const f of l)out.textContent+=f.name+'='+await f.text()+';'}</script><p id=out></p>`

// Files reach the page through a field, a hidden field's label, a button that opens a chooser, and an area that takes dropped files.
func TestUpload(t *testing.T) {
	t.Parallel()
	inWorkspace(t, "up/a.txt", "Ada")
	inWorkspace(t, "up/b.txt", "Bob")
	p := open(t, reader+`<label>Picture <input type=file id=i onchange="read(this.files)"></label>
		<label id=lb style="background:#ccc">Attach<input type=file hidden multiple onchange="read([...this.files]);this.value=''"></label>
		<button onclick="const f=document.createElement('input');f.type='file';f.onchange=()=>read(f.files);f.click()">Choose a file</button>
		<div id=zone role=region aria-label="Drop zone" style="height:80px;border:1px dashed" ondragover="event.preventDefault()" ondrop="event.preventDefault();read(event.dataTransfer.files)">Drop here</div>`)
	for _, c := range []struct {
		target string
		paths  []string
		want   string
	}{
		{"Picture", []string{"up/a.txt"}, "a.txt=Ada;"},
		{"Attach", []string{"up/a.txt", "up/b.txt"}, "a.txt=Ada;b.txt=Bob;"},
		{"Choose a file", []string{filepath.Join(workspace, "up/b.txt")}, "b.txt=Bob;"},
		{"Drop zone", []string{"up/a.txt"}, "a.txt=Ada;"},
	} {
		p.truth("out.textContent=''")
		d := p.by(tool.SourceCDP, "upload", map[string]any{"target": named(c.target), "paths": c.paths}).must(t, tool.EffectConfirmed)
		r := d.out.Result.(*gen.UploadResult)
		p.truthOf(c.target, func() bool { return p.truth("out.textContent") == c.want })
		if len(r.Files) != len(c.paths) || !slices.IsSorted(r.Files) || at(t, d.after, "effect", "delivered") != true {
			t.Errorf("%s: %q, %v", c.target, r.Files, d.after.Values["effect"])
		}
	}
	p.do("click", clickOn("Choose a file")) // a chooser that nobody gives files is cancelled, and the page can go on
	p.by(tool.SourceCDP, "upload", map[string]any{"target": named("Picture"), "paths": []string{"up/a.txt", "up/b.txt"}}).fails(t, tool.InvalidArguments)
}

func TestUploadIsUndone(t *testing.T) {
	t.Parallel()
	inWorkspace(t, "undo.txt", "x")
	p := open(t, `<label>Picture <input type=file id=i></label>`)
	d := p.by(tool.SourceCDP, "upload", map[string]any{"target": named("Picture"), "paths": []string{"undo.txt"}}).must(t, tool.EffectConfirmed)
	rb, err := d.att.Rollback(t.Context())
	if err != nil || !rb.Performed || p.truth("i.files.length") != "0" {
		t.Errorf("%+v, %v, %s files", rb, err, p.truth("i.files.length"))
	}
}

// Nothing outside of the workspace can be reached: not by a path, not by a link.
func TestUploadStaysInTheWorkspace(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(workspace, "link.txt")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(link) })
	p := open(t, reader+`<label>Picture <input type=file onchange="read(this.files)"></label>`)
	for path, want := range map[string]tool.Failure{outside: tool.PolicyDenied, "../secret.txt": tool.PolicyDenied, "link.txt": tool.PolicyDenied, "none.txt": tool.InvalidArguments, ".": tool.InvalidArguments} {
		p.by(tool.SourceCDP, "upload", map[string]any{"target": named("Picture"), "paths": []string{path}}).fails(t, want)
	}
	if got := p.truth("out.textContent"); got != "" {
		t.Error(got)
	}
}
