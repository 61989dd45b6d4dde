// The transcript of one agent as a client holds it: the 14 operations and
// apply, by the rules of the server's pkg/reducer.

import { equal } from './equal.js';
import { appendAt } from './text.js';

const entities = {
  'task.upsert': ['tasks', 'task', 'taskId'],
  'interaction.upsert': ['interactions', 'interaction', 'interactionId'],
  'attachment.upsert': ['attachments', 'attachment', 'attachmentId'],
  'todo.upsert': ['todos', 'todo', 'todoId'],
  'prompt.upsert': ['prompts', 'prompt', 'promptId'],
};

/** The ordinal in an id such as t5 or t5.3; 0 when there is none. */
function ordinalOf(id) {
  const m = /(\d+)$/.exec(id ?? '');
  return m ? Number(m[1]) : 0;
}

export class Transcript {
  /** @param {string} agentId */
  constructor(agentId) {
    this.agentId = agentId;
    this.reset({});
  }

  /** Replaces everything by a snapshot. */
  reset(s) {
    /** Turns, markers and task refs in the order of the timeline. */
    this.items = [...(s.items ?? [])];
    this.index = new Map();
    for (const item of this.items) this.index.set(idOf(item), item);
    for (const [field, , key] of Object.values(entities)) {
      this[field] = new Map((s[field] ?? []).map((e) => [e[key], e]));
    }
    this.meta = s.meta ?? {};
    this.hasMoreOlder = s.hasMoreOlder ?? false;
  }

  /** The interactions that wait for a person. */
  get pending() {
    return [...this.interactions.values()].filter((i) => i.state === 'pending');
  }

  /** The ordinal of the first turn of a window, null when nothing is missing. */
  get floor() {
    if (!this.hasMoreOlder) return null;
    return this.items.find((i) => i.kind === 'turn')?.ordinal ?? null;
  }

  /**
   * Applies operations in order. One that does not fit is skipped and never
   * stops the ones behind it.
   * @returns {{accepted: number[], gap?: object, touched: Set<string>}} touched
   *   holds ids of items and frames, "items" when the timeline's order has
   *   changed, and names of entity sets.
   */
  apply(ops) {
    const result = { accepted: [], touched: new Set() };
    ops.forEach((op, i) => {
      const out = this.#apply(op, result.touched);
      if (out === true) result.accepted.push(i);
      else if (out) result.gap = out;
    });
    return result;
  }

  #apply(op, touched) {
    switch (op.op) {
      case 'reset':
        this.reset(op.snapshot ?? {});
        touched.add('reset');
        return true;
      case 'turn.upsert': return this.#upsertTurn(op.turn, touched);
      case 'step.upsert': return this.#upsertStep(op, touched);
      case 'frame.upsert': return this.#upsertFrame(op, touched);
      case 'append': return this.#append(op, touched);
      case 'marker.upsert': return this.#upsertMark({ kind: 'marker', ...op.item }, op.beforeTurn, touched);
      case 'taskref.upsert': return this.#upsertMark({ kind: 'taskref', ...op.item }, op.beforeTurn, touched);
      case 'items.remove': return this.#remove(op.ids, touched);
      case 'meta.merge': return this.#mergeMeta(op.meta ?? {}, touched);
      default: return this.#upsertEntity(op, touched);
    }
  }

  #upsertEntity(op, touched) {
    const [field, member, key] = entities[op.op] ?? [];
    const value = field && op[member];
    if (!value || equal(this[field].get(value[key]), value)) return false;
    this[field].set(value[key], value);
    touched.add(field);
    return true;
  }

  #turn(id) {
    const item = this.index.get(id);
    return item?.kind === 'turn' ? item : undefined;
  }

  /** Tells whether a turn is not loaded and older than what is. */
  #below(ordinal) {
    const floor = this.floor;
    return floor !== null && ordinal < floor;
  }

  #upsertTurn(head, touched) {
    const old = this.#turn(head.turnId);
    if (!old) {
      if (this.#below(head.ordinal)) return false;
      this.#insert({ ...head, kind: 'turn', steps: [] }, head.ordinal, touched);
      return true;
    }
    const next = { ...head, kind: 'turn', steps: old.steps };
    if (old.hasMoreSteps) next.hasMoreSteps = true;
    if (equal(old, next)) return false;
    replace(old, next);
    touched.add(old.turnId);
    return true;
  }

  /** Puts an item before the first turn with an ordinal above (turns) or from
      (marks) the given one, else at the end. */
  #insert(item, ordinal, touched) {
    const past = item.kind === 'turn'
      ? (t) => t.ordinal > ordinal
      : (t) => ordinal !== undefined && t.ordinal >= ordinal;
    const at = this.items.findIndex((t) => t.kind === 'turn' && past(t));
    this.items.splice(at < 0 ? this.items.length : at, 0, item);
    this.index.set(idOf(item), item);
    touched.add('items').add(idOf(item));
  }

  #skeletonTurn(id, touched) {
    const found = this.#turn(id);
    if (found) return found;
    const turn = { kind: 'turn', turnId: id, ordinal: ordinalOf(id), state: 'running', origin: { kind: 'other' }, steps: [] };
    if (this.#below(turn.ordinal)) return undefined;
    this.#insert(turn, turn.ordinal, touched);
    return turn;
  }

  #step(turn, head, touched) {
    const found = turn.steps.find((s) => s.stepId === head.stepId);
    if (found) return found;
    if (turn.hasMoreSteps && turn.steps.length > 0 && head.ordinal < turn.steps[0].ordinal) return undefined;
    const step = { ...head, frames: [] };
    const at = turn.steps.findIndex((s) => s.ordinal > step.ordinal);
    turn.steps.splice(at < 0 ? turn.steps.length : at, 0, step);
    touched.add(turn.turnId);
    return step;
  }

  #upsertStep(op, touched) {
    const turn = this.#skeletonTurn(op.turnId, touched);
    if (!turn) return false;
    const had = turn.steps.find((s) => s.stepId === op.step.stepId);
    if (!had) return this.#step(turn, op.step, touched) !== undefined;
    const next = { ...op.step, frames: had.frames };
    if (equal(had, next)) return false;
    const moved = had.ordinal !== next.ordinal;
    replace(had, next);
    if (moved) turn.steps.sort((a, b) => a.ordinal - b.ordinal);
    touched.add(turn.turnId);
    return true;
  }

  #upsertFrame(op, touched) {
    const turn = this.#skeletonTurn(op.turnId, touched);
    if (!turn) return false;
    const skeleton = { kind: 'step', stepId: op.stepId, turnId: op.turnId, ordinal: ordinalOf(op.stepId), state: 'running' };
    const step = this.#step(turn, skeleton, touched);
    if (!step) return false;
    const i = step.frames.findIndex((f) => f.frameId === op.frame.frameId);
    if (i < 0) {
      step.frames.push({ ...op.frame });
      touched.add(turn.turnId).add(op.frame.frameId);
      return true;
    }
    if (equal(step.frames[i], op.frame)) return false;
    step.frames[i] = { ...op.frame };
    touched.add(op.frame.frameId);
    return true;
  }

  #append(op, touched) {
    const t = op.target;
    if (t.type === 'task') return this.#appendTask(op, touched);
    const frame = this.#turn(t.turnId)?.steps.find((s) => s.stepId === t.stepId)?.frames.find((f) => f.frameId === t.frameId);
    const field = t.field === 'inputText' ? 'inputText' : 'text';
    const fits = frame && (field === 'inputText' ? frame.kind === 'tool' : frame.kind === 'text' || frame.kind === 'thinking');
    if (!fits) {
      if (!frame && this.#unloaded(t)) return false;
      return { target: t, expected: 0, got: op.offset };
    }
    const out = appendAt(frame[field] ?? '', op.offset, op.text);
    if (out.gap) return { target: t, ...out.gap };
    if (!out.changed) return false;
    frame[field] = out.text;
    touched.add(frame.frameId);
    return true;
  }

  /** Tells whether a frame belongs to what a window has left out. */
  #unloaded(target) {
    const turn = this.#turn(target.turnId);
    if (!turn) return this.#below(ordinalOf(target.turnId));
    return Boolean(turn.hasMoreSteps) && turn.steps.length > 0 && ordinalOf(target.stepId) < turn.steps[0].ordinal;
  }

  #appendTask(op, touched) {
    const id = op.target.taskId;
    const task = this.tasks.get(id);
    const out = appendAt(task?.outputTail ?? '', op.offset, op.text);
    if (out.gap) return { target: op.target, ...out.gap };
    if (!out.changed) return false;
    const base = task ?? { taskId: id, kind: 'other', state: 'running', detached: false };
    this.tasks.set(id, { ...base, outputTail: out.text });
    touched.add('tasks');
    return true;
  }

  #upsertMark(item, beforeTurn, touched) {
    const id = idOf(item);
    const old = this.index.get(id);
    if (old) {
      if (equal(old, item)) return false;
      this.items[this.items.indexOf(old)] = item;
      this.index.set(id, item);
      touched.add('items').add(id);
      return true;
    }
    const floor = this.floor;
    if (beforeTurn !== undefined && floor !== null && beforeTurn <= floor) return false;
    this.#insert(item, beforeTurn, touched);
    return true;
  }

  #remove(ids, touched) {
    const gone = new Set(ids.filter((id) => this.index.has(id)));
    if (gone.size === 0) return false;
    const calls = new Set();
    for (const item of this.items) {
      if (item.kind !== 'turn' || !gone.has(item.turnId)) continue;
      for (const s of item.steps) for (const f of s.frames) if (f.kind === 'tool') calls.add(f.toolCallId);
    }
    this.items = this.items.filter((i) => !gone.has(idOf(i)));
    for (const id of gone) this.index.delete(id);
    for (const [id, i] of this.interactions) {
      if (i.toolCallId && calls.has(i.toolCallId)) this.interactions.delete(id);
    }
    touched.add('items').add('interactions');
    return true;
  }

  #mergeMeta(patch, touched) {
    const next = { ...this.meta };
    merge(next, 'goal', patch.goal);
    if (patch.activity !== undefined) next.activity = patch.activity;
    if (patch.modes) {
      const modes = { ...next.modes };
      for (const [k, v] of Object.entries(patch.modes)) merge(modes, k, v);
      if (Object.keys(modes).length > 0) next.modes = modes;
      else delete next.modes;
    }
    if (patch.agent) next.agent = { ...next.agent, ...patch.agent };
    if (equal(next, this.meta)) return false;
    this.meta = next;
    touched.add('meta');
    return true;
  }

  /** Takes an older page in: what stands before the first turn held. */
  prepend(page) {
    const fresh = page.items.filter((i) => !this.index.has(idOf(i)));
    this.items = [...fresh, ...this.items];
    for (const item of fresh) this.index.set(idOf(item), item);
    for (const [field, , key] of Object.values(entities)) {
      for (const e of page[field] ?? []) if (!this[field].has(e[key])) this[field].set(e[key], e);
    }
    this.hasMoreOlder = page.has_more;
  }
}

/** @returns {string} the id of whichever the item is */
export function idOf(item) {
  return item.turnId ?? item.markerId ?? item.refId;
}

/** Makes an object equal to another one, keeping its identity. */
function replace(object, next) {
  for (const k of Object.keys(object)) if (!(k in next)) delete object[k];
  Object.assign(object, next);
}

/** undefined keeps, null clears, anything else sets. */
function merge(object, key, value) {
  if (value === null) delete object[key];
  else if (value !== undefined) object[key] = value;
}
