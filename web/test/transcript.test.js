import assert from 'node:assert/strict';
import { test } from 'node:test';

import { appendAt } from '../client/text.js';
import { Transcript, idOf } from '../client/transcript.js';
import { Watched } from '../client/connection.js';

const turn = (n, more = {}) => ({ op: 'turn.upsert', turn: { kind: 'turn', turnId: `t${n}`, ordinal: n, state: 'running', origin: { kind: 'user' }, ...more } });
const step = (t, n, more = {}) => ({ op: 'step.upsert', turnId: t, step: { kind: 'step', stepId: `${t}.${n}`, turnId: t, ordinal: n, state: 'running', ...more } });
const frame = (t, n, f) => ({ op: 'frame.upsert', turnId: t, stepId: `${t}.${n}`, frame: f });
const text = (id, s) => ({ kind: 'text', frameId: id, role: 'assistant', text: s });
const marker = (id, beforeTurn) => ({ op: 'marker.upsert', item: { kind: 'marker', markerId: id, marker: 'notice' }, ...(beforeTurn === undefined ? {} : { beforeTurn }) });
const order = (t) => t.items.map(idOf);

test('appendAt: the golden vectors', () => {
  for (const [local, offset, chunk, want, changed, expected] of [
    ['abc', 3, 'd', 'abcd', true], ['abc', 1, 'bc', 'abc', false], ['abc', 1, 'b', 'abc', false], ['abc', 1, 'bcd', 'abcd', true],
    ['abc', 5, 'x', 'abc', false, 3], ['abc', 1, 'x', 'abc', false, 3], ['hello', 2, ' world', 'hello', false, 5],
    ['hello wo', 6, 'world', 'hello world', true], ['abc', 0, '', 'abc', false], ['abc', 3, '', 'abc', false], ['abc', 4, '', 'abc', false, 3],
    ['a\ud83d', 2, '\ude00b', 'a😀b', true], ['a😀', 2, 'b', 'a😀', false, 3],
  ]) {
    const out = appendAt(local, offset, chunk);
    assert.deepEqual([out.text, out.changed, out.gap?.expected], [want, changed, expected], `${local} ${offset} ${chunk}`);
  }
});

test('S2: a frame on an empty state makes its turn and step', () => {
  const t = new Transcript('main');
  t.apply([frame('t9', 2, text('t9.2.f1', 'x'))]);
  assert.equal(t.items[0].ordinal, 9);
  assert.equal(t.items[0].steps[0].ordinal, 2);
});

test('S3: the second time nothing changes', () => {
  const ops = [turn(1), step('t1', 1), frame('t1', 1, text('t1.1.f1', 'x')), marker('m1', 1),
    { op: 'task.upsert', task: { taskId: 'k', kind: 'shell', state: 'running', detached: true, outputTail: '' } },
    { op: 'meta.merge', meta: { goal: { objective: 'o', status: 'active' }, modes: { plan: {} }, activity: 'turn', agent: { model: 'm' } } }];
  const t = new Transcript('main');
  assert.equal(t.apply(ops).accepted.length, ops.length);
  assert.deepEqual(t.apply(ops).accepted, []);
});

test('S4: appends, gaps and repeats', () => {
  const t = new Transcript('main');
  t.apply([turn(1), step('t1', 1), frame('t1', 1, text('f', ''))]);
  const append = (offset, s) => ({ op: 'append', target: { type: 'frame', turnId: 't1', stepId: 't1.1', frameId: 'f' }, offset, text: s });
  assert.deepEqual(t.apply([append(5, 'x')]).gap.expected, 0);
  const both = t.apply([append(0, 'hello '), append(6, 'world')]);
  assert.equal(both.gap, undefined);
  assert.equal(t.items[0].steps[0].frames[0].text, 'hello world');
  assert.deepEqual(t.apply([append(6, 'world')]).accepted, []);
});

test('S14: a removed turn takes its interactions with it', () => {
  const t = new Transcript('main');
  t.apply([turn(1), step('t1', 1), frame('t1', 1, { kind: 'tool', frameId: 'f', toolCallId: 'c', name: 'x', state: 'running' }),
    { op: 'interaction.upsert', interaction: { interactionId: 'i', interactionKind: 'approval', toolCallId: 'c', state: 'pending' } }]);
  assert.equal(t.pending.length, 1);
  t.apply([{ op: 'items.remove', ids: ['t1', 'unknown'] }]);
  assert.deepEqual([t.items.length, t.interactions.size, t.pending.length], [0, 0, 0]);
});

test('S17: a task that grows before it is described', () => {
  const t = new Transcript('main');
  t.apply([{ op: 'append', target: { type: 'task', taskId: 'k' }, offset: 0, text: 'y' }]);
  assert.deepEqual(t.tasks.get('k'), { taskId: 'k', kind: 'other', state: 'running', detached: false, outputTail: 'y' });
});

test('S18 to S20: meta', () => {
  const t = new Transcript('main');
  const merge = (meta) => t.apply([{ op: 'meta.merge', meta }]).accepted.length;
  merge({ modes: { plan: {}, swarm: {}, tower: {} } });
  merge({ modes: { plan: null } });
  assert.deepEqual(Object.keys(t.meta.modes), ['swarm', 'tower']);
  merge({ modes: { swarm: null, tower: null } });
  assert.equal('modes' in t.meta, false);
  merge({ agent: { model: 'a', permission: 'auto' } });
  merge({ agent: { model: 'b', contextTokens: 1 } });
  assert.deepEqual(t.meta.agent, { model: 'b', permission: 'auto', contextTokens: 1 });
  assert.equal(merge({ goal: null }), 0);
});

test('S22 to S24: the order of the timeline', () => {
  const t = new Transcript('main');
  t.apply([turn(2), turn(0), marker('a', 1), turn(1), marker('b', 2), marker('c')]);
  assert.deepEqual(order(t), ['t0', 'a', 't1', 'b', 't2', 'c']);
  t.apply([marker('d', 0)]);
  assert.equal(order(t)[0], 'd');
});

test('a window ignores what is below its floor', () => {
  const t = new Transcript('main');
  t.reset({ items: [{ kind: 'turn', turnId: 't5', ordinal: 5, state: 'completed', origin: { kind: 'user' }, steps: [] }], hasMoreOlder: true });
  const late = [turn(3), step('t3', 1), frame('t3', 1, text('f', 'x')), marker('m', 5),
    { op: 'append', target: { type: 'frame', turnId: 't3', stepId: 't3.1', frameId: 'f' }, offset: 0, text: 'x' }];
  const out = t.apply(late);
  assert.deepEqual([out.accepted, out.gap, order(t)], [[], undefined, ['t5']]);
  t.prepend({ items: [{ kind: 'turn', turnId: 't3', ordinal: 3, state: 'completed', origin: { kind: 'user' }, steps: [] }], has_more: false });
  assert.equal(t.apply([turn(3, { state: 'failed' })]).accepted.length, 1);
});

test('batches: known ones are ignored, a missing one is noticed', () => {
  const w = new Watched('s', { main: 'delta' }, { changed() {}, roster() {} });
  assert.equal(w.ops({ agent_id: 'main', seq: 1, prev_seq: 0, epoch: 'e', ops: [turn(0)] }), true);
  assert.equal(w.transcript('main').items.length, 0, 'nothing before the reset');
  w.reset({ agent_id: 'main', seq: 5, epoch: 'e', snapshot: { items: [] }, has_more_older: false });
  assert.equal(w.ops({ agent_id: 'main', seq: 5, prev_seq: 4, epoch: 'e', ops: [turn(1)] }), true);
  assert.equal(w.transcript('main').items.length, 0);
  assert.equal(w.ops({ agent_id: 'main', seq: 8, prev_seq: 3, epoch: 'e', ops: [turn(1)] }), true);
  assert.equal(w.marks.main, 8);
  assert.equal(w.ops({ agent_id: 'main', seq: 10, prev_seq: 9, epoch: 'e', ops: [] }), false);
});
