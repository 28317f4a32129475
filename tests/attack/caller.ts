/**
 * `caller.ts PORT KEY`: small calls with a key on a connection that is kept, one after another. A process of its own:
 * in one with the looks at memory and sockets, or with the upstream, their time would count as the gateway's. Told
 * `begin` it starts, told `end` it sends the latencies; ends with its parent.
 */
import { answerMs, Client, smallCall } from './client.ts'

/** What it sends to its parent: each port that it calls from, and what it saw between `begin` and `end`. */
export type CallerMessage = { readonly localPort: number } | { readonly latenciesMs: readonly number[] }

const callGapMs = 4

const [port, key] = process.argv.slice(2)
const call = smallCall(key!)
const say = (message: CallerMessage): void => void process.send!(message)
const newClient = (): Client => new Client(Number(port), localPort => say({ localPort }))

let latenciesMs: number[] = []
let wantsCalls = false
let client = newClient()

async function callAll(): Promise<void> {
  while (wantsCalls) {
    const fromMs = performance.now()
    const status = await client.ask(call)
    if (status === 200) latenciesMs.push(performance.now() - fromMs)
    else {
      // Counts as slow as a client would wait: a call that fails is not a fast one.
      latenciesMs.push(answerMs)
      client.close()
      client = newClient()
    }
    await Bun.sleep(callGapMs)
  }
  say({ latenciesMs })
}

process.on('message', order => {
  wantsCalls = order === 'begin'
  if (!wantsCalls) return
  latenciesMs = []
  void callAll()
})
process.on('disconnect', () => process.exit(0))
