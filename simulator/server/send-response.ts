/** Sends a response with the transport faults applied, and records in the truth log how much was sent. */
import type { SimulatedResponse, StreamEvent } from '../dialects/response.ts'
import type { Connection } from './connection.ts'
import type { Fault } from '../faults/fault.ts'
import { applyFaultToEvents, textStart } from '../faults/apply.ts'
import type { Finish, TruthEntry, TruthLog } from './truth-log.ts'

/** One response being sent. `entry` is updated meanwhile. */
interface Delivery {
  readonly connection: Connection
  readonly answer: SimulatedResponse
  readonly fault: Fault | undefined
  readonly entry: TruthEntry
  readonly truth: TruthLog
  readonly keepAlive: boolean
  /** A HEAD request: only the head is sent. */
  readonly isHead: boolean
}

type Framing = 'length' | 'chunked' | 'close'

/** Events without a pause between them are written together up to this size. */
const batchCharactersMax = 16 * 1024
const fillerBytes = 64 * 1024
const lastChunk = '0\r\n\r\n'
const eventStream = 'text/event-stream; charset=utf-8'

const reasons: Record<number, string> = {
  200: 'OK',
  301: 'Moved Permanently',
  302: 'Found',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  413: 'Payload Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Entity',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
}

function statusLine(status: number, fault: Fault | undefined): string {
  if (fault?.name === 'bad-status-line') return 'HTP/one 2OO fine'
  const sent = fault?.name === 'status-999' ? 999 : status
  return `HTTP/1.1 ${sent} ${reasons[sent] ?? 'Unknown'}`
}

function extraHeaders(fault: Fault | undefined): string[] {
  if (fault?.name === 'huge-headers') return [`x-huge: ${'h'.repeat(fault.number('bytes'))}`]
  if (fault?.name !== 'many-headers') return []
  return Array.from({ length: fault.number('count') }, (_, at) => `x-many-${at}: ${at}`)
}

function sendHead(delivery: Delivery, framing: Framing, length = 0): void {
  const { answer, fault, entry, connection } = delivery
  const isStream = isEvents(answer.content)
  const given = new Set(answer.headers.map(([name]) => name))
  const lines = [statusLine(answer.status, fault)]
  if (!given.has('content-type')) lines.push(`content-type: ${isStream ? eventStream : 'application/json'}`)
  if (isStream) lines.push('cache-control: no-cache')
  for (const [name, value] of answer.headers) lines.push(`${name}: ${value}`)
  lines.push(...extraHeaders(fault))
  if (framing === 'length' && !given.has('content-length')) lines.push(`content-length: ${length}`)
  if (framing === 'chunked') lines.push('transfer-encoding: chunked')
  lines.push(`connection: ${delivery.keepAlive && framing !== 'close' ? 'keep-alive' : 'close'}`)
  entry.status = fault?.name === 'status-999' ? 999 : answer.status
  entry.billable.inputTokens = answer.billable.inputTokens
  connection.send(`${lines.join('\r\n')}\r\n\r\n`)
}

function isEvents(content: SimulatedResponse['content']): content is Iterable<StreamEvent> {
  return typeof content !== 'string' && !(content instanceof Uint8Array)
}

/** Records the end in the truth log before the client can observe it. */
function finish(delivery: Delivery, how: Finish): void {
  delivery.truth.finish(delivery.entry, how)
  delivery.connection.onClose = undefined
}

function countSent(delivery: Delivery, events: number, tokens: number): void {
  const { entry } = delivery
  entry.eventsSent += events
  entry.tokensSent += tokens
  entry.billable.outputTokens += tokens
}

/** Where and how a fault interrupts the response; undefined when it is complete. */
function breakPointOf(fault: Fault | undefined): { at: number; bytes: number; how: string } | undefined {
  switch (fault?.name) {
    case 'cut':
    case 'cut-chunked':
      return { at: fault.number('at'), bytes: fault.number('bytes'), how: 'fin' }
    case 'cut-reset':
      return { at: fault.number('at'), bytes: fault.number('bytes'), how: 'rst' }
    case 'cut-close-delimited':
      return { at: fault.number('at'), bytes: fault.number('bytes'), how: fault.text('how') }
    case 'hang-mid':
      return { at: fault.number('at'), bytes: 0, how: 'hang' }
    case 'cut-clean':
      return { at: fault.number('at'), bytes: 0, how: 'end' }
    case 'bad-chunk':
      return { at: fault.number('at'), bytes: 0, how: 'bad-chunk' }
    default:
      return undefined
  }
}

async function breakOff(delivery: Delivery, how: string): Promise<void> {
  const { connection } = delivery
  if (how === 'bad-chunk') connection.send('not-a-size\r\n{"what":"is this"}\r\n')
  if (how === 'hang') return connection.whenClosed()
  if (how === 'end') connection.send(lastChunk)
  await connection.whenFlushed()
  if (connection.isClosed) return
  finish(delivery, 'cut')
  if (how === 'end') return delivery.keepAlive ? undefined : connection.fin()
  return how === 'rst' ? connection.reset() : connection.fin()
}

/** After a response: keep the connection, close it, or apply the fault that concerns idle connections. */
async function finishExchange(delivery: Delivery, framing: Framing, how: Finish = 'complete'): Promise<void> {
  const { connection, fault, keepAlive } = delivery
  if (!connection.isFlushed) await connection.whenFlushed()
  if (connection.isClosed) return
  finish(delivery, how)
  if (!keepAlive || framing === 'close') return connection.fin()
  const close = () => void (fault?.text('how') === 'rst' ? connection.terminate() : connection.fin())
  if (fault?.name === 'reset-idle' && fault.text('when') === 'next') connection.onNextBytes(close)
  else if (fault?.name === 'reset-idle') connection.whenIdle(fault.number('ms'), close)
  if (fault?.name === 'half-close') connection.whenIdle(fault.number('ms'), () => void connection.halfClose())
  if (fault?.name === 'unsolicited') {
    const ms = fault.number('ms')
    if (ms === 0) connection.send(unsolicitedResponse())
    else connection.whenIdle(ms, () => connection.send(unsolicitedResponse()))
  }
}

/** A well-formed response without a request. A client that accepts it mixes up the responses of two callers. */
function unsolicitedResponse(): string {
  const message = { role: 'assistant', content: 'POISON', refusal: null }
  const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }]
  const body = JSON.stringify({
    id: 'chatcmpl-POISON',
    object: 'chat.completion',
    created: 1,
    model: 'POISON',
    choices,
  })
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

function framed(bytes: Uint8Array | string, framing: Framing): string | Uint8Array {
  if (framing !== 'chunked') return bytes
  const size = (typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length).toString(16)
  if (typeof bytes === 'string') return `${size}\r\n${bytes}\r\n`
  return Buffer.concat([Buffer.from(`${size}\r\n`), bytes, Buffer.from('\r\n')])
}

/** Sends byte by byte: `drip` at a fixed rate, `split-utf8` as fast as single writes allow. */
async function sendByByte(delivery: Delivery, bytes: Uint8Array, framing: Framing): Promise<void> {
  const { connection, fault } = delivery
  const isDrip = fault!.name === 'drip'
  const sent = isDrip ? Buffer.from(framed(bytes, framing)) : bytes
  const startMs = performance.now()
  for (let at = 0; at < sent.length && !connection.isClosed; at++) {
    const byte = sent.subarray(at, at + 1)
    connection.send(isDrip ? byte : framed(byte, framing))
    await connection.wait(isDrip ? startMs + (at + 1) * fault!.number('ms') - performance.now() : 0)
    await connection.whenFlushed()
  }
}

/** Inserts a string field of `bytes` bytes at the start of the first JSON object, without holding it in memory. */
async function sendGiant(delivery: Delivery, text: string, framing: Framing): Promise<void> {
  const { connection, fault } = delivery
  const at = text.indexOf('{') + 1
  // Framed by hand to avoid copies: hundreds of megabytes are sent from one small buffer.
  const send = (piece: string | Uint8Array) => {
    if (framing === 'chunked') connection.send(`${Buffer.byteLength(piece).toString(16)}\r\n`)
    connection.send(piece)
    if (framing === 'chunked') connection.send('\r\n')
  }
  send(`${text.slice(0, at)}"padding":"`)
  const filler = Buffer.alloc(fillerBytes, 'a')
  for (let left = fault!.number('bytes'); left > 0 && !connection.isClosed; left -= fillerBytes) {
    send(filler.subarray(0, Math.min(left, fillerBytes)))
    await connection.wait(0)
    await connection.whenFlushed()
  }
  send(`",${text.slice(at)}`)
  await connection.whenFlushed()
}

/** An event of a binary stream; the fault `bad-crc` changes its last byte, which belongs to the checksum. */
function checksummed(delivery: Delivery, event: StreamEvent, at: number): Uint8Array {
  const bytes = bytesOf(delivery, event)
  const { fault } = delivery
  if (fault?.name === 'bad-crc' && at === fault.number('at')) bytes[bytes.length - 1]! ^= 0xff
  return bytes
}

/** Binary framing writes the length before the payload, so the whole event has to be built in memory. */
async function sendGiantEvent(delivery: Delivery, event: StreamEvent, framing: Framing): Promise<void> {
  const { answer, connection, fault } = delivery
  if (!answer.encode) return sendGiant(delivery, event.text, framing)
  const at = event.text.indexOf('{') + 1
  const filler = 'a'.repeat(Math.min(fault!.number('bytes'), 1e8))
  const payload = Buffer.from(`${event.text.slice(0, at)}"padding":"${filler}",${event.text.slice(at)}`)
  connection.send(framed(bytesOf(delivery, event, payload), framing))
}

function withInvalidBytes(text: string): Uint8Array {
  const at = textStart(text)
  if (at < 0) return Buffer.from(text)
  const bad = Uint8Array.of(0xff, 0xfe, 0xc0, 0x80, 0xe2, 0x82)
  return Buffer.concat([Buffer.from(text.slice(0, at)), bad, Buffer.from(text.slice(at))])
}

/** The bytes of an event, including the framing of its stream. */
function bytesOf(delivery: Delivery, event: StreamEvent, payload: Uint8Array = Buffer.from(event.text)): Uint8Array {
  return delivery.answer.encode?.(payload, event) ?? payload
}

/** Sends an event that a fault changes. Returns false when the fault does not concern this event. */
async function sendFaultyEvent(
  delivery: Delivery,
  event: StreamEvent,
  context: { at: number; framing: Framing },
): Promise<boolean> {
  const { fault, connection } = delivery
  const { framing } = context
  if (fault?.name === 'drip' || fault?.name === 'split-utf8')
    await sendByByte(delivery, bytesOf(delivery, event), framing)
  else if (fault?.name === 'giant-event' && context.at === fault.number('at'))
    await sendGiantEvent(delivery, event, framing)
  else if (fault?.name === 'invalid-utf8' && event.tokens > 0)
    connection.send(framed(bytesOf(delivery, event, withInvalidBytes(event.text)), framing))
  else if (delivery.answer.encode) connection.send(framed(checksummed(delivery, event, context.at), framing))
  else return false
  await connection.whenFlushed()
  if (!connection.isClosed) countSent(delivery, 1, event.tokens)
  return true
}

function sendPart(delivery: Delivery, event: StreamEvent, part: { bytes: number; framing: Framing }): void {
  const bytes = bytesOf(delivery, event)
  const sent = bytes.subarray(0, Math.min(part.bytes, bytes.length - 1))
  // The chunk header announces the whole event.
  if (part.framing === 'chunked') delivery.connection.send(`${bytes.length.toString(16)}\r\n`)
  delivery.connection.send(sent)
}

async function sendEvents(delivery: Delivery, framing: Framing): Promise<void> {
  const { connection, fault } = delivery
  const broken = breakPointOf(fault)
  const startMs = performance.now()
  let batch = ''
  let batchEvents = 0
  let batchTokens = 0
  let at = 0
  const flush = async (mayYield: boolean) => {
    if (batch === '') return
    const [count, tokens] = [batchEvents, batchTokens]
    connection.send(batch, () => countSent(delivery, count, tokens))
    batch = ''
    batchEvents = batchTokens = 0
    if (!connection.isFlushed) await connection.whenFlushed()
    else if (mayYield) await connection.wait(0)
  }
  for (const event of applyFaultToEvents(delivery.answer, fault)) {
    if (broken && at >= broken.at) {
      await flush(false)
      if (broken.bytes > 0) sendPart(delivery, event, { bytes: broken.bytes, framing })
      return breakOff(delivery, broken.how)
    }
    if (fault?.tokenMs && at > 0) {
      await flush(false)
      await connection.wait(startMs + at * fault.tokenMs - performance.now())
    }
    if (connection.isClosed) return
    const isSpecial = fault !== undefined || delivery.answer.encode !== undefined
    // Keep the order: send the batched events first.
    if (isSpecial) await flush(false)
    if (!(isSpecial && (await sendFaultyEvent(delivery, event, { at, framing })))) {
      batch += framed(event.text, framing)
      batchEvents++
      batchTokens += event.tokens
    }
    at++
    if (batch.length >= batchCharactersMax) await flush(true)
  }
  await flush(false)
  if (connection.isClosed) return
  if (broken && fault!.name !== 'cut-clean') return breakOff(delivery, broken.how)
  if (fault?.name === 'hang-end') {
    // The stream is complete; a client that closes now has lost nothing.
    finish(delivery, 'complete')
    if (fault.number('ms') === 0) return connection.whenClosed()
    await connection.wait(fault.number('ms'))
  }
  if (framing === 'chunked') connection.send(lastChunk)
  const isCut =
    fault !== undefined &&
    ['truncated-json', 'error-in-stream', 'error-first', ...(delivery.answer.encode ? ['bad-crc'] : [])].includes(
      fault.name,
    )
  return finishExchange(delivery, framing, isCut ? 'cut' : 'complete')
}

/** Sends half of a non-streamed body, then ends as the fault says. */
async function sendBroken(delivery: Delivery, body: Uint8Array): Promise<void> {
  const { connection, fault } = delivery
  const broken = breakPointOf(fault)!
  const half = body.subarray(0, Math.min(broken.bytes || body.length >> 1, body.length))
  if (fault!.name === 'cut-chunked' || fault!.name === 'bad-chunk') {
    sendHead(delivery, 'chunked')
    if (fault!.name === 'cut-chunked') connection.send(framed(body, 'chunked'))
  } else if (fault!.name === 'cut-clean') {
    sendHead(delivery, 'length', half.length)
    connection.send(half)
    await connection.whenFlushed()
    return finishExchange(delivery, 'length', 'cut')
  } else {
    sendHead(delivery, fault!.name === 'cut-close-delimited' ? 'close' : 'length', body.length)
    connection.send(half)
  }
  return breakOff(delivery, broken.how)
}

async function sendWhole(delivery: Delivery, content: string | Uint8Array): Promise<void> {
  const { connection, fault, answer, isHead } = delivery
  const plain = typeof content === 'string' ? Buffer.from(content) : content
  const wait = fault?.tokenMs ? fault.tokenMs * answer.billable.outputTokens : 0
  if (wait > 0) await connection.wait(wait)
  if (connection.isClosed) return
  const body =
    fault?.name === 'truncated-json'
      ? plain.subarray(0, plain.length >> 1)
      : fault?.name === 'invalid-utf8'
        ? withInvalidBytes(Buffer.from(plain).toString())
        : plain
  if (breakPointOf(fault) && !isHead) return sendBroken(delivery, body)
  const giantBytes = fault?.name === 'giant-event' && body[0] === 123 ? fault.number('bytes') : undefined
  const framing: Framing =
    fault?.name === 'close-delimited' ? 'close' : fault?.name === 'split-utf8' && !isHead ? 'chunked' : 'length'
  const lengthError =
    fault?.name === 'length-short' ? -fault.number('by') : fault?.name === 'length-long' ? fault.number('by') : 0
  const extraBytes = giantBytes === undefined ? 0 : giantBytes + '"padding":"",'.length
  sendHead(delivery, framing, Math.max(body.length + lengthError + extraBytes, 0))
  if (!isHead) {
    if (giantBytes !== undefined) await sendGiant(delivery, Buffer.from(body).toString(), framing)
    else if (fault?.name === 'drip' || fault?.name === 'split-utf8') await sendByByte(delivery, body, framing)
    else connection.send(body)
    if (framing === 'chunked') connection.send(lastChunk)
  }
  if (!connection.isFlushed) await connection.whenFlushed()
  if (connection.isClosed) return
  const isCut = lengthError !== 0 || ['truncated-json', 'bad-status-line'].includes(fault?.name ?? '')
  if (!isCut) countSent(delivery, 0, answer.billable.outputTokens)
  await finishExchange(delivery, framing, isCut ? 'cut' : 'complete')
  if (lengthError !== 0 || fault?.name === 'bad-status-line') await connection.fin()
}

/** A stream with a wrong `content-length` has to have one: its events are joined into one body. */
function joinEvents(delivery: Delivery, events: Iterable<StreamEvent>): Delivery {
  const content = Buffer.concat([...events].map(event => bytesOf(delivery, event)))
  const { headers } = delivery.answer
  const named = headers.some(([name]) => name === 'content-type')
  const all: SimulatedResponse['headers'] = named ? headers : [...headers, ['content-type', eventStream]]
  return { ...delivery, answer: { ...delivery.answer, content, headers: all } }
}

/** Sends the response; resolves when the connection can take its next request, or is closed. */
export async function sendResponse(given: Delivery): Promise<void> {
  const { connection, fault, entry, truth } = given
  connection.onClose = () => truth.finish(entry, 'client-closed')
  const hasFalseFraming =
    fault?.name === 'length-short' || fault?.name === 'length-long' || fault?.name === 'bad-status-line'
  const delivery = hasFalseFraming && isEvents(given.answer.content) ? joinEvents(given, given.answer.content) : given
  // Status 0 is the response of `flaky;code=0`.
  if (fault?.name === 'refuse' || fault?.name === 'reset' || given.answer.status === 0) {
    finish(delivery, 'refused')
    return fault?.name === 'refuse' ? connection.fin() : connection.terminate()
  }
  if (fault?.name === 'hang') return connection.whenClosed()
  if (fault?.name === 'slow') await connection.wait(fault.number('ms'))
  if (connection.isClosed) return
  const { content } = delivery.answer
  if (!isEvents(content)) return sendWhole(delivery, content)
  const isUnframed = fault?.name === 'cut-close-delimited' || fault?.name === 'close-delimited'
  const framing: Framing = isUnframed ? 'close' : 'chunked'
  sendHead(delivery, framing)
  return sendEvents(delivery, framing)
}
