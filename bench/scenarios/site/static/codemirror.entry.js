// What the bundle codemirror.js holds. To make it anew: npm i @codemirror/view @codemirror/state @codemirror/commands esbuild, then
// esbuild codemirror.entry.js --bundle --minify --format=iife --global-name=CM --charset=utf8 --legal-comments=none, below the licence.
import {EditorView, keymap, lineNumbers, drawSelection, highlightActiveLine} from "@codemirror/view";
import {EditorState} from "@codemirror/state";
import {history, historyKeymap, defaultKeymap} from "@codemirror/commands";
export {EditorView, EditorState, keymap, lineNumbers, drawSelection, highlightActiveLine, history, historyKeymap, defaultKeymap};
