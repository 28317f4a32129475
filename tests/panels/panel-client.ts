/**
 * Panels with the Logs page open and live: `panel-client.ts URL COUNT KEYS`. They ask what `web/pages/logs.tsx` asks,
 * when it does, but do not parse what comes: browsers do that on machines of their own. Ends when its input ends, and
 * prints what the panels have seen.
 */

/** What all panels together were given. */
export interface PanelCounts {
  rows: number
  events: number
  /** How often the list was read. */
  reads: number
  bytes: number
}

const [url, count, keys] = process.argv.slice(2) as [string, string, string]
/** As the page has it: rows of a list, the pause before it is read again, and how many are put into it before. */
const [pageSize, reloadMs, addedMax] = [200, 1000, 1000]

/** Panels were not opened at the same moment: their lists are not read at one. */
const openedWithinMs = 1000

const counts: PanelCounts = { rows: 0, events: 0, reads: 0, bytes: 0 }
const left = new AbortController()

async function panel(key: string): Promise<void> {
  await Bun.sleep(Math.random() * openedWithinMs)
  const headers = { authorization: `Bearer ${key}` }
  const from = encodeURIComponent(new Date(Date.now() - 86_400_000).toISOString())
  let listed = 0
  let isReading = false
  const readList = async () => {
    isReading = true
    const answer = await fetch(`${url}/spend/logs/v2?page_size=${pageSize}&start_date=${from}`, {
      headers,
      signal: left.signal,
    })
    if (answer.status !== 200) throw new Error(`the list: ${answer.status} ${await answer.text()}`)
    counts.bytes += (await answer.arrayBuffer()).byteLength
    counts.reads++
    listed = pageSize
    isReading = false
  }
  const gap = () => {
    if (isReading) return
    isReading = true
    setTimeout(() => void readList().catch(stop), reloadMs)
  }
  await readList()
  const events = await fetch(`${url}/spend/logs/events?start_date=${from}`, { headers, signal: left.signal })
  if (events.status !== 200) throw new Error(`the events: ${events.status} ${await events.text()}`)
  for await (const piece of events.body as unknown as AsyncIterable<Uint8Array>) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    const rows = occurrences(bytes, '"request_id":')
    counts.rows += rows
    counts.events += occurrences(bytes, 'event: ')
    counts.bytes += bytes.length
    listed += rows
    if (bytes.includes('event: reload') || listed > addedMax) gap()
  }
  throw new Error('the events have ended')
}

function occurrences(bytes: Buffer, text: string): number {
  let found = 0
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + text.length)) found++
  return found
}

function stop(error: unknown): void {
  if (left.signal.aborted) return
  console.error(error)
  process.exit(1)
}

const allKeys = keys.split(',')
for (let at = 0; at < Number(count); at++) void panel(allKeys[at % allKeys.length]!).catch(stop)
for await (const _ of Bun.stdin.stream());
left.abort()
console.log(JSON.stringify(counts))
process.exit(0)
