// A list of any length of which only the rows in sight are elements. Rows may have any height: they are measured when they are first seen,
// and estimated until then.
import { h, set } from './dom.js';

const spare = 400; // pixels above and below that are ready before they are scrolled to

// Sums keeps the heights of rows and finds their places in logarithmic time (a Fenwick tree).
class Sums {
  #tree = [0];
  #value = [];

  get length() { return this.#value.length; }

  push(v) {
    const i = this.#tree.length;
    let sum = v;
    for (let step = 1; step < (i & -i); step <<= 1) sum += this.#tree[i - step];
    this.#tree.push(sum);
    this.#value.push(v);
  }

  at(i) { return this.#value[i]; }

  set(i, v) {
    const by = v - this.#value[i];
    this.#value[i] = v;
    for (let k = i + 1; k < this.#tree.length; k += k & -k) this.#tree[k] += by;
  }

  // before is the sum of the first n.
  before(n) {
    let sum = 0;
    for (let k = n; k > 0; k -= k & -k) sum += this.#tree[k];
    return sum;
  }

  // find is the row at that distance from the top.
  find(distance) {
    let i = 0;
    let left = distance;
    for (let step = 1 << Math.floor(Math.log2(Math.max(1, this.#tree.length))); step; step >>= 1) {
      if (i + step < this.#tree.length && this.#tree[i + step] <= left) {
        i += step;
        left -= this.#tree[i];
      }
    }
    return Math.min(i, Math.max(0, this.length - 1));
  }
}

// WindowedList shows items in a box that scrolls. make(item) makes the row of an item; estimate is the height of one that was not seen yet.
// While the end is in sight, the list follows what is appended.
export class WindowedList {
  #make; #estimate; #box; #list; #items = []; #heights = new Sums(); #rows = new Map(); #due = false; #width = 0; #height = 0; #following = true; #onfollow;

  constructor(box, make, { estimate = 32, label, lang, onfollow } = {}) {
    this.#box = box;
    this.#make = make;
    this.#estimate = estimate;
    this.#onfollow = onfollow || (() => {});
    this.#list = h('ol', { class: 'window', 'aria-label': label, lang });
    box.append(this.#list);
    box.addEventListener('scroll', () => {
      this.#follow(this.#box.scrollHeight - this.#box.scrollTop - this.#box.clientHeight < 24);
      this.#schedule();
    }, { passive: true });
    new ResizeObserver(() => this.#resized()).observe(box);
  }

  get following() { return this.#following; }
  get length() { return this.#items.length; }
  get element() { return this.#list; }

  #follow(on) {
    if (on === this.#following) return;
    this.#following = on;
    this.#onfollow(on);
  }

  append(items) {
    for (const i of items) {
      this.#items.push(i);
      this.#heights.push(this.#estimate);
    }
    this.#schedule();
  }

  // replace shows other items.
  replace(items) {
    for (const e of this.#rows.values()) e.remove();
    this.#rows.clear();
    this.#items = [];
    this.#heights = new Sums();
    this.append(items);
  }

  // refresh makes the rows anew, in another language or width.
  refresh() {
    const items = this.#items;
    const top = this.#heights.find(this.#box.scrollTop);
    this.replace(items);
    this.#render();
    if (!this.#following) this.#box.scrollTop = this.#heights.before(top);
  }

  // end goes to the end, and follows it.
  end() {
    this.#follow(true);
    this.#schedule();
  }

  #resized() {
    this.#height = this.#box.clientHeight; // remembered, because to ask for it amid changes lays out the whole page
    if (this.#box.clientWidth !== this.#width) {
      this.#width = this.#box.clientWidth;
      if (this.#rows.size) this.refresh();
    }
    this.#schedule();
  }

  #schedule() {
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => {
      this.#due = false;
      this.#render();
    });
  }

  #render() {
    const n = this.#items.length;
    const box = this.#box;
    const total = () => this.#heights.before(n);
    // Measuring changes the places, which may bring further rows into sight: a few rounds are enough.
    for (let round = 0; round < 4; round += 1) {
      const top = this.#following ? Math.max(0, total() - this.#height) : box.scrollTop;
      const from = this.#heights.find(Math.max(0, top - spare));
      const to = Math.min(n, this.#heights.find(top + this.#height + spare) + 1);
      for (const [i, e] of this.#rows) {
        if ((i < from || i >= to) && !e.contains(document.activeElement)) {
          e.remove();
          this.#rows.delete(i);
        }
      }
      const made = [];
      for (let i = from; i < to; i += 1) {
        if (this.#rows.has(i)) continue;
        const e = this.#make(this.#items[i]);
        set(e, 'aria-posinset', i + 1);
        this.#rows.set(i, e);
        made.push(i);
      }
      this.#insert(made);
      const anchor = this.#following ? -1 : this.#heights.find(box.scrollTop);
      const within = anchor < 0 ? 0 : box.scrollTop - this.#heights.before(anchor);
      let changed = false;
      const measured = made.map((i) => [i, this.#rows.get(i).offsetHeight]); // all reads before all writes
      for (const [i, height] of measured) {
        if (height && height !== this.#heights.at(i)) {
          this.#heights.set(i, height);
          changed = true;
        }
      }
      this.#list.style.height = `${total()}px`;
      for (const [i, e] of this.#rows) e.style.transform = `translateY(${this.#heights.before(i)}px)`;
      if (this.#following) box.scrollTop = total(); // or as far as there is
      else if (changed) box.scrollTop = this.#heights.before(anchor) + within;
      if (!changed) break;
    }
    for (const e of this.#rows.values()) set(e, 'aria-setsize', n);
  }

  // insert puts rows where they belong among the others, so that they are read in order.
  #insert(indexes) {
    if (!indexes.length) return;
    const order = [...this.#rows.keys()].sort((a, b) => a - b);
    for (let k = order.length - 1, next = null; k >= 0; k -= 1) {
      const e = this.#rows.get(order[k]);
      if (e.parentNode !== this.#list || e.nextSibling !== next) {
        if (e.parentNode !== this.#list) this.#list.insertBefore(e, next);
      }
      next = e;
    }
  }
}
