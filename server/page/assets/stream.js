// The events of a run, as they happen: each once, in order, also when the connection is lost in between.
import { eventsOf } from './api.js';

const kinds = ['narration', 'tool_result', 'question', 'approval', 'run'];
const firstWait = 1000;
const longestWait = 30000;
// hiddenFor is how long a page that nobody sees keeps its connection: browsers have few of them for one server.
const hiddenFor = 60000;
// slice bounds the work of one frame, in milliseconds: typing and scrolling go on while thousands of events come in.
const slice = 8;

// Stream reads the events of a run. take(events) gets them in slices, and as short a time after they came as the page can show; tell(state)
// learns whether the stream is "connecting", "live", "lost", "resting" or "over".
export class Stream {
  #run; #take; #tell; #source = null; #waiting = []; #due = false; #timer = 0; #rest = 0; #wait = firstWait;
  // last is the id of the last event that came.
  last = 0;
  over = false;

  constructor(run, take, tell) {
    this.#run = run;
    this.#take = take;
    this.#tell = tell;
    document.addEventListener('visibilitychange', () => this.#seen());
    addEventListener('online', () => this.#soon(0));
    addEventListener('pagehide', () => this.#close());
    addEventListener('pageshow', (e) => e.persisted && this.#soon(0));
    this.#open();
  }

  #open() {
    if (this.over || this.#source) return;
    this.#tell('connecting');
    // A source that the browser connects again by itself sends Last-Event-ID; one that we make anew names the place itself.
    const source = new EventSource(eventsOf(this.#run, this.last));
    this.#source = source;
    source.onopen = () => {
      this.#wait = firstWait;
      this.#tell('live');
    };
    for (const kind of kinds) source.addEventListener(kind, (e) => this.#came(kind, e));
    source.onerror = () => {
      if (source !== this.#source) return;
      if (source.readyState === EventSource.CONNECTING) {
        this.#tell('lost');
        return;
      }
      this.#close(); // the server refused: 204 when the run is over, or something that may pass
      if (this.over) return;
      this.#tell('lost');
      this.#soon(this.#wait);
      this.#wait = Math.min(2 * this.#wait, longestWait);
    };
  }

  #came(kind, e) {
    const id = Number(e.lastEventId);
    if (!(id > this.last)) return; // it was here before
    if (id > this.last + 1) { // one is missing: ask again, from the place where we are
      this.#close();
      this.#soon(firstWait);
      return;
    }
    let data;
    try {
      data = JSON.parse(e.data);
    } catch {
      data = null; // an event that cannot be read still has its place in the order
    }
    this.last = id;
    if (data === null) return;
    if (kind === 'run' && data.outcome && data.outcome !== 'running') this.end();
    this.#waiting.push({ id, kind, data });
    this.#schedule();
  }

  // end: nothing more comes, because the run has ended.
  end() {
    this.over = true;
    this.#close();
    this.#tell('over');
  }

  #schedule() {
    if (this.#due) return;
    this.#due = true;
    if (document.hidden) setTimeout(() => this.#hand(), 250);
    else requestAnimationFrame(() => this.#hand());
  }

  #hand() {
    this.#due = false;
    const began = performance.now();
    let from = 0;
    while (from < this.#waiting.length && performance.now() - began < slice) {
      this.#take(this.#waiting.slice(from, from + 50));
      from += 50;
    }
    this.#waiting.splice(0, from);
    if (this.#waiting.length) this.#schedule();
  }

  #soon(wait) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#open(), wait);
  }

  #seen() {
    clearTimeout(this.#rest);
    if (!document.hidden) {
      this.#soon(0);
      return;
    }
    this.#rest = setTimeout(() => {
      this.#close();
      if (!this.over) this.#tell('resting');
    }, hiddenFor);
  }

  #close() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }
}
