// The public HTTP interface (docs: /openapi.json), as any other client uses it.

// Refused is an answer that is not what was asked for. status is 0 when none came; problem is the body (RFC 9457), or a ToolResult.
export class Refused extends Error {
  constructor(status, problem) {
    super(problem?.detail || problem?.error?.message || problem?.title || `HTTP ${status}`);
    this.status = status;
    this.problem = problem || {};
    this.code = problem?.code || '';
  }
}

async function request(method, path, body) {
  let response;
  try {
    response = await fetch(path, { method, headers: body === undefined ? {} : { 'Content-Type': 'application/json' }, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Refused(0, null);
  }
  let value = null;
  if (response.status !== 204) {
    try {
      value = await response.json();
    } catch { /* not ours: a proxy's page */ }
  }
  if (!response.ok) throw new Refused(response.status, value);
  return value;
}

const at = (run, ...rest) => ['/v1/runs', run, ...rest].map((p, i) => (i ? encodeURIComponent(p) : p)).join('/');

export const listRuns = (limit, waiting) => request('GET', `/v1/runs?limit=${limit}${waiting ? '&waiting=true' : ''}`);
export const showRun = (run) => request('GET', at(run));
export const control = (run, what) => request('POST', at(run, what));
export const answer = (run, question, value) => request('POST', at(run, 'answers', question), value);
export const approve = (run, approval, approved, digest) => request('POST', at(run, 'approvals', approval), approved ? { approved, digest } : { approved });
export const eventsOf = (run, after) => `${at(run, 'events')}?after=${after}`;

// artifact is the address of an artifact; null when the digest is none.
export const artifact = (digest) => (/^sha256:[0-9a-f]{64}$/.test(digest) ? `/v1/artifacts/${digest}` : null);
export const readArtifact = (digest) => request('GET', artifact(digest));
