/** Sends wrong passwords at a rate, from its own thread: `{ url, perSecond }` begins, `stop` ends and tells the counts. */

interface Flood {
  readonly url: string
  readonly perSecond: number
}

const tickMs = 20
const counts: Record<number, number> = {}
let timer: ReturnType<typeof setInterval> | undefined

/** Half from one address at one account, a quarter from many addresses at that account, a quarter at made-up names. */
function attempt(at: number): { readonly from: string; readonly username: string } {
  if (at % 2 === 0) return { from: '203.0.113.1', username: 'ann' }
  const from = `198.51.${(at >> 8) & 255}.${at & 255}`
  return { from, username: at % 4 === 1 ? 'ann' : `nobody-${at}` }
}

async function send(url: string, at: number): Promise<void> {
  const { from, username } = attempt(at)
  const answer = await fetch(`${url}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
    body: JSON.stringify({ username, password: `wrong-${at}` }),
  })
  await answer.arrayBuffer()
  counts[answer.status] = (counts[answer.status] ?? 0) + 1
}

let sent = 0
globalThis.onmessage = ({ data }: MessageEvent<Flood | 'stop'>) => {
  clearInterval(timer)
  if (data === 'stop') return void postMessage({ sent, counts })
  const startedMs = performance.now()
  const before = sent
  timer = setInterval(() => {
    const due = before + ((performance.now() - startedMs) / 1000) * data.perSecond
    while (sent < due) void send(data.url, sent++).catch(() => {})
  }, tickMs)
}
