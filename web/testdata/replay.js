// Reads {catchUp, snapshot} from stdin: applies the batches with the client and
// compares what comes out with the server's snapshot.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { Watched } from '../client/connection.js';

const { catchUp, snapshot } = JSON.parse(readFileSync(0, 'utf8'));
const w = new Watched('s', { main: 'delta' }, { changed() {}, roster() {} });
w.reset({ agent_id: 'main', seq: 0, epoch: catchUp.epoch, snapshot: {}, has_more_older: false });
for (const b of catchUp.batches) {
  assert.ok(w.ops({ agent_id: 'main', epoch: catchUp.epoch, ...b }), `batch ${b.seq} does not fit`);
}
const t = w.transcript('main');
const got = { items: t.items, meta: t.meta, hasMoreOlder: false };
for (const k of ['tasks', 'interactions', 'attachments', 'todos', 'prompts']) got[k] = [...t[k].values()];
assert.deepEqual(JSON.parse(JSON.stringify(got)), snapshot);
