/**
 * Sends requests at a rate, from its own process: `{ url, perSecond, kind }` begins, `stop` ends and tells the counts.
 * `passwords` = wrong ones; `control` = as many requests that cost next to nothing.
 */

/** What it is told. */
export interface Flood {
  readonly url: string
  readonly perSecond: number
  readonly kind: 'passwords' | 'control'
}

/** Answers by status. */
export type FloodCounts = Record<number, number>

const tickMs = 20
let counts: FloodCounts = {}
let timer: ReturnType<typeof setInterval> | undefined

/**
 * Half from one address at one account, a quarter at that account from addresses of one network, a quarter at made-up
 * names from addresses of the whole net.
 */
function attempt(at: number): { readonly from: string; readonly username: string } {
  if (at % 2 === 0) return { from: '203.0.113.1', username: 'ann' }
  if (at % 4 === 1) return { from: `198.51.${(at >> 8) & 255}.${at & 255}`, username: 'ann' }
  return { from: `${20 + (at % 150)}.${(at * 7) & 255}.${(at >> 8) & 255}.${at & 255}`, username: `nobody-${at}` }
}

async function send({ url, kind }: Flood, at: number): Promise<void> {
  const { from, username } = attempt(at)
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': from }
  const body = JSON.stringify({ username, password: `wrong-${at}` })
  const answer = await (kind === 'passwords'
    ? fetch(`${url}/login`, { method: 'POST', headers, body })
    : fetch(`${url}/health/liveliness`, { headers }))
  await answer.arrayBuffer()
  counts[answer.status] = (counts[answer.status] ?? 0) + 1
}

let sent = 0
process.on('message', (data: Flood | 'stop') => {
  clearInterval(timer)
  if (data === 'stop') {
    process.send!(counts)
    counts = {}
    return
  }
  const startedMs = performance.now()
  const before = sent
  timer = setInterval(() => {
    const due = before + ((performance.now() - startedMs) / 1000) * data.perSecond
    while (sent < due) void send(data, sent++).catch(() => {})
  }, tickMs)
})
