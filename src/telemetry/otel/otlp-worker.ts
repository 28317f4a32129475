/** The entry point of the thread that exports: it loads the SDK of OpenTelemetry, which no other thread does. */
import type { Exporters } from './exporters.ts'
import type { ExportItem, OtlpReply, OtlpRequest } from './messages.ts'

declare const self: Worker

const send = (reply: OtlpReply) => postMessage(reply)
const countsMs = 1000
let exporters: Promise<Exporters> | undefined

async function open({ settings, version }: Extract<OtlpRequest, { kind: 'open' }>): Promise<Exporters> {
  // The exporters read their addresses, headers, certificates and time limits of the process.
  for (const [name, value] of Object.entries(settings.variables)) process.env[name] = value
  const { Exporters } = await import('./exporters.ts')
  const made = new Exporters(settings, version)
  setInterval(() => send({ kind: 'counts', counts: made.counts() }), countsMs).unref()
  return made
}

async function take(json: string, count: number): Promise<void> {
  const { take, counts } = await exporters!.then(one => ({
    take: (item: ExportItem) => one.take(item),
    counts: () => one.counts(),
  }))
  for (const item of JSON.parse(json) as ExportItem[]) {
    try {
      take(item)
    } catch (error) {
      send({ kind: 'problem', text: `something could not be exported: ${String(error)}` })
    }
  }
  send({ kind: 'taken', count, counts: counts() })
}

self.onmessage = ({ data }: MessageEvent<OtlpRequest>) => {
  switch (data.kind) {
    case 'open':
      exporters = open(data)
      exporters.catch(error => {
        send({ kind: 'problem', text: `the exporters of OpenTelemetry cannot be made: ${String(error)}` })
        process.exit(1)
      })
      return
    case 'batch':
      void take(data.json, data.count).catch(() => {})
      return
    case 'flush':
      void exporters
        ?.then(one => one.flush())
        .catch(() => {})
        .finally(() => send({ kind: 'flushed' }))
  }
}
