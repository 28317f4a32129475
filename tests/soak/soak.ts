/** Many keys and many clients (hurried, slow, leaving) against a lying upstream: does anyone get a byte of another? */
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { randomFrom } from '../fuzz/bytes.ts'
import { readAnswers } from '../support/network/http-server-rig.ts'
import type { ReadAnswer } from '../support/network/http-server-rig.ts'
import { lies } from './lying-upstream.ts'
import { answerText, foreignBytes, marksIn, orderText } from './marks.ts'
import type { Order } from './marks.ts'

export interface SoakOptions {
  readonly port: number
  readonly keys: readonly string[]
  readonly requests: number
  readonly clients: number
  readonly seed: number
  /** Called from time to time. */
  progress?(tally: Tally): void
}

/** What came of it. */
export interface Tally {
  requests: number
  /** Complete answers that were checked to their last byte. */
  complete: number
  /** Answers that ended in an error, before or inside of them. */
  failed: number
  /** Requests whose client left before their answer was complete. */
  left: number
  /** Marks that arrived. */
  marks: number
  foreignBytes: number
  /** Answers with a status, a text or an end that the lie does not allow; the first ones in words. */
  wrong: number
  readonly examples: string[]
}

interface Asked {
  readonly order: Order
  readonly stream: boolean
  readonly path: string
}

/** Above the timeouts of the gateway towards its upstream. */
const answersWithinMs = 90_000

/** Ends when every request has its answer, or its client has left. */
export async function soak(options: SoakOptions): Promise<Tally> {
  const tally: Tally = {
    requests: 0,
    complete: 0,
    failed: 0,
    left: 0,
    marks: 0,
    foreignBytes: 0,
    wrong: 0,
    examples: [],
  }
  const random = randomFrom(options.seed)
  const client = async (): Promise<void> => {
    while (tally.requests < options.requests) {
      const asked = Array.from({ length: 1 + Math.floor(random() ** 3 * 4) }, () =>
        ask(tally.requests++, options, random),
      )
      await converse(asked, options, random, tally)
      if (tally.requests % 1000 < 4) options.progress?.(tally)
    }
  }
  await Promise.all(Array.from({ length: options.clients }, client))
  return tally
}

const weights = Object.entries(lies)
const weightSum = weights.reduce((sum, [, { weight }]) => sum + weight, 0)

function ask(id: number, { keys }: SoakOptions, random: () => number): Asked {
  let left = random() * weightSum
  const [lie] = weights.find(([, { weight }]) => (left -= weight) < 0) ?? weights[0]!
  return {
    order: { id, key: Math.floor(random() * keys.length), lie, marks: 1 + Math.floor(random() ** 2 * 40) },
    stream: random() < 0.6,
    path: random() < 0.7 ? '/v1/chat/completions' : '/v1/messages',
  }
}

function requestText({ order, stream, path }: Asked, key: string, random: () => number): string {
  // Early answers come while a large body is still on its way.
  const more = order.lie === 'early' || random() < 0.02 ? 'x'.repeat(Math.floor(random() * 200_000)) : ''
  const messages = [{ role: 'user', content: orderText(order) + more }]
  const body = JSON.stringify({
    model: order.lie === 'hang' ? 'hanging/soak' : 'up/soak',
    max_tokens: 99,
    stream,
    messages,
  })
  const head = `host: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
  return `POST ${path} HTTP/1.1\r\n${head}\r\n\r\n${body}`
}

/**
 * One connection: the requests are sent at once, the answers are checked in order; some clients leave or read slowly.
 */
function converse(asked: readonly Asked[], options: SoakOptions, random: () => number, tally: Tally): Promise<void> {
  const texts = asked.map(one => requestText(one, options.keys[one.order.key]!, random))
  const leavesAfterMs = random() < 0.15 ? random() * 30 : -1
  const isSlow = random() < 0.05
  return new Promise(resolve => {
    const socket = connect({ port: options.port, host: '127.0.0.1', noDelay: true })
    const pieces: Buffer[] = []
    let checked = 0
    let heard = ''
    /** What came last, for the report of what did not come. */
    let before = 'no answer'
    /** The last answer has said that the connection ends behind it (RFC 9112, 9.6): what is left is asked anew. */
    let isAnnounced = false
    const deadline = setTimeout(() => over(false), answersWithinMs)
    const over = (isLeaving: boolean): void => {
      clearTimeout(deadline)
      for (; checked < asked.length; checked++) {
        const one = asked[checked]!
        // What is left is the beginning of the next answer, and nothing else.
        note(tally, one.order, heard)
        heard = ''
        if (isLeaving) tally.left++
        else wrong(tally, one, `no answer: the connection ended before it, after ${before}`)
      }
      socket.destroy()
      resolve()
    }
    const look = (ended: boolean): void => {
      heard += Buffer.concat(pieces.splice(0)).toString('latin1')
      try {
        const read = readAnswers(heard, ended)
        for (const answer of read.answers) {
          check(tally, asked[checked++], answer)
          isAnnounced = answer.headers.connection === 'close'
          before = `${checked} of ${asked.length} answers, the last one ${answer.status} ${JSON.stringify(answer.headers)}`
        }
        heard = read.rest
      } catch (thrown) {
        wrong(tally, asked[Math.min(checked, asked.length - 1)]!, String(thrown))
        checked = asked.length
      }
      if (checked >= asked.length) over(false)
    }
    socket.on('data', (bytes: Buffer) => {
      pieces.push(bytes)
      if (isSlow) rest(socket, random() * 20)
      look(false)
    })
    socket.on('error', error => (before += `, ${error.message}`))
    socket.on('close', () => {
      if (checked < asked.length) look(true)
      if (checked >= asked.length) return
      if (!isAnnounced || heard !== '' || leavesAfterMs >= 0) return over(leavesAfterMs >= 0)
      clearTimeout(deadline)
      resolve(converse(asked.slice(checked), options, random, tally))
    })
    before += ` (${texts.map(text => text.length)} bytes asked)`
    socket.write(texts.join(''), 'latin1')
    if (leavesAfterMs >= 0) setTimeout(() => (checked < asked.length ? over(true) : undefined), leavesAfterMs)
  })
}

function rest(socket: Socket, ms: number): void {
  socket.pause()
  setTimeout(() => socket.resume(), ms)
}

function note(tally: Tally, order: Order, heard: string): void {
  const foreign = foreignBytes(heard, order)
  tally.marks += marksIn(heard)
  if (foreign === 0) return
  tally.foreignBytes += foreign
  if (tally.examples.length < 20) tally.examples.push(`foreign bytes in ${orderText(order)}: ${heard.slice(0, 2000)}`)
}

function wrong(tally: Tally, { order, stream, path }: Asked, why: string): void {
  tally.wrong++
  if (tally.examples.length < 20)
    tally.examples.push(`${path}${stream ? ', streamed' : ''}, ${orderText(order)} ${why}`)
}

/** Of each event or block: its text. */
const contentPattern = /"(?:content|text)":"(~[^"]*)"/g

function check(tally: Tally, asked: Asked | undefined, { status, headers, body }: ReadAnswer): void {
  if (!asked) {
    tally.wrong++
    tally.examples.push(`an answer without a request: ${body.slice(0, 200)}`)
    return
  }
  const { order, stream } = asked
  note(tally, order, `${JSON.stringify(headers)}\n${body}`)
  const { statuses, complete } = lies[order.lie]!
  if (!statuses.includes(status)) wrong(tally, asked, `status ${status}: ${body.slice(0, 300)}`)
  if (status !== 200 || /"error": ?[{"]|"type":"error"/.test(body)) {
    tally.failed++
    if (status === 200 && complete === true) wrong(tally, asked, `an error inside: ${body.slice(-300)}`)
    return
  }
  if (complete === false || (complete === 'streamed' && !stream)) wrong(tally, asked, `complete: ${body.slice(-300)}`)
  const text = [...body.matchAll(contentPattern)].map(([, words]) => words).join('')
  if (text !== answerText(order)) wrong(tally, asked, `another text: ${body.slice(0, 500)}`)
  else if (stream && !/data: \[DONE\]\n\n$|"type":"message_stop"\}\n\n$/.test(body))
    wrong(tally, asked, 'a stream without its end')
  else tally.complete++
}
