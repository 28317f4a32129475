import { expect, test } from 'bun:test'
import type { Answer } from '../../src/core/answer.ts'
import type { ServerRequest } from '../../src/http/server/server-request.ts'
import { echo, FakeConnection, HandStream, readAnswers, text } from '../support/network/http-server-rig.ts'
import { interesting, mutate, randomFrom, split } from './bytes.ts'
import { conversationSeeds } from './seeds.ts'
import { newSeedsOf } from '../property/random.ts'

/** At once without the body, whole, piece by piece, as a stream, or without ever asking for the body. */
async function answered(request: ServerRequest): Promise<Answer> {
  const { method, target } = request.headers
  if (target === '/stream') {
    const stream = new HandStream()
    stream.onPipe = sink => {
      sink.write('one ')
      setImmediate(() => {
        sink.write(Buffer.from('two'))
        sink.end()
      })
    }
    return { status: 200, headers: {}, body: stream }
  }
  if (target === '/refused') return text('no', 413)
  if (method !== 'PUT') return echo(request)
  const pieces: Uint8Array[] = []
  try {
    for (let piece = await request.body.next(); piece; piece = await request.body.next()) pieces.push(piece)
  } catch {
    return text('failed', 400)
  }
  return text(`pieces [${Buffer.concat(pieces).toString('latin1')}]`)
}

const handle = (request: ServerRequest): Answer | Promise<Answer> =>
  request.method === 'GET' && request.headers.target !== '/stream'
    ? text(`at once ${request.headers.target}`)
    : answered(request)

interface Outcome {
  /** Method and target of each request, and what was answered; the reason of a refusal may depend on the split. */
  readonly said: string
  readonly statuses: number[]
  /** How the server ended it, before the client did. */
  readonly gone: string
  /** The last request waits to be asked for its body, so that an answer before the body ends the connection. */
  readonly endsWithExpectation: boolean
}

/**
 * Tells whether two cuts of one conversation had the same result. An answer that did not ask for an expected body ends
 * the connection, unless the body is there already: then what follows it is answered, too.
 */
function isSame(one: Outcome, other: Outcome): boolean {
  const [shorter, longer] = one.statuses.length < other.statuses.length ? [one, other] : [other, one]
  if (shorter.said === longer.said) return true
  const isEnded = shorter.endsWithExpectation && shorter.gone !== 'no'
  return isEnded && shorter.said.split(' | ').every(said => longer.said.includes(said))
}

/** Runs the conversation and closes it. Fails on everything that must never happen. */
async function outcome(pieces: readonly Uint8Array[], room: () => number = () => Infinity): Promise<Outcome> {
  const line = new FakeConnection(handle)
  for (const piece of pieces) {
    line.socket.room = room()
    line.receive(piece)
    // Some pieces come while the request before is under way, some after.
    if (pieces.length < 50 || piece.length % 2 === 0) await line.rest()
  }
  await line.rest()
  line.socket.room = Infinity
  for (let i = 0; i < 5; i++) {
    line.connection.flush()
    await line.rest()
  }
  if (line.failures.length > 0) throw line.failures[0]
  const { gone } = line.socket
  const heard = line.socket.sent
  const { answers, rest } = readAnswers(
    heard,
    gone !== 'no',
    line.requests.map(request => request.method),
  )
  if (rest !== '') throw new Error(`half an answer: ${JSON.stringify(rest)}`)
  const refusals = answers.filter(answer => answer.body.startsWith('refused: ')).length
  // A request whose body never came has no answer yet; nothing has two.
  const unanswered = line.requests.length + refusals - answers.length
  if (refusals > 1 || unanswered < 0 || unanswered > 1)
    throw new Error(`${line.requests.length} requests, ${answers.length} answers`)
  line.clock.advance(600_000)
  await line.rest()
  line.clock.advance(600_000)
  if (line.closes === 0) throw new Error('it hangs longer than the timers')
  line.connection.lost()
  if (line.closes !== 1 || line.wheel.size !== 0) throw new Error('it is not released')
  const said = line.requests.map(request => `${request.method} ${request.headers.target}`)
  for (const answer of answers)
    said.push(answer.body.startsWith('refused: ') ? 'refused' : `${answer.status} ${answer.body}`)
  const endsWithExpectation = line.requests.at(-1)?.headers.expectsContinue === true
  return { said: said.join(' | '), statuses: answers.map(answer => answer.status), gone, endsWithExpectation }
}

test('each conversation is the same when it is cut in two at any byte, and byte by byte', async () => {
  for (const bytes of conversationSeeds) {
    const expected = await outcome([bytes])
    expect(expected.statuses.length).toBeGreaterThan(0)
    expect(expected.said).not.toContain('| refused')
    for (let cut = 1; cut < bytes.length; cut++) {
      const inTwo = await outcome([bytes.subarray(0, cut), bytes.subarray(cut)])
      if (inTwo.said !== expected.said || inTwo.gone !== expected.gone)
        throw new Error(`cut at ${cut}: ${JSON.stringify(inTwo)} instead of ${JSON.stringify(expected)}`)
    }
    expect(await outcome(Array.from(bytes, byte => Buffer.of(byte)))).toEqual(expected)
    const random = randomFrom(bytes.length)
    expect(await outcome([bytes], () => 1)).toEqual(expected)
    expect(await outcome(split(bytes, random, 60), () => Math.floor(random() * 20))).toEqual(expected)
  }
})

test('the conversations say what they should', async () => {
  const said = await Promise.all(conversationSeeds.map(async bytes => (await outcome([bytes])).said))
  expect(said).toEqual([
    'POST /a | GET /b?c=d | 200 POST /a [hello\r\n\r\nab] | 200 at once /b?c=d',
    'POST /chunks | PUT /pieces | 200 POST /chunks [hello0123456789] | 200 pieces [wxyz]',
    'GET /old | GET /later | HEAD /h | 200 at once /old | 200 at once /later | 200 ',
    'POST /e | GET /stream | GET /f | 200 POST /e [abc] | 200 one two | 200 at once /f',
    'POST /refused | GET /g | 413 no | 200 at once /g',
    'GET /stream | 200 one two',
  ])
})

test('2,500 mutated conversations: no crash, no hang, no second answer; splits change nothing', async () => {
  const [seed = 0] = newSeedsOf(1)
  console.log(`mutated conversations: seed ${seed} (FIRST_SEED)`)
  const random = randomFrom(seed)
  let refusals = 0
  for (let i = 0; i < 2500; i++) {
    const bytes = mutate(conversationSeeds[i % conversationSeeds.length]!, random)
    const atOnce = await outcome([bytes])
    const inParts = await outcome(split(bytes, random, 60))
    if (!isSame(atOnce, inParts))
      throw new Error(`differs by split: ${JSON.stringify(bytes.toString('latin1'))}\n${atOnce.said}\n${inParts.said}`)
    if (atOnce.said.includes('refused')) refusals++
  }
  expect(refusals).toBeWithin(600, 2300)
})

test('2,000 pieces of garbage never become a request', async () => {
  const random = randomFrom(99)
  for (let i = 0; i < 2000; i++) {
    const bytes = Buffer.from(
      Array.from({ length: 1 + Math.floor(random() * 300) }, () =>
        random() < 0.3 ? interesting[Math.floor(random() * interesting.length)]! : Math.floor(random() * 256),
      ),
    )
    const { said } = await outcome(random() < 0.5 ? [bytes] : split(bytes, random, 60))
    expect(said === '' || said === 'refused').toBe(true)
  }
})

test('endless heads, empty lines, chunk sizes, extensions and trailers cost no more than their bound', async () => {
  const chunked = 'POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n'
  const endless: [string, string, RegExp][] = [
    ['GET / HTTP/1.1\r\n', 'a: b\r\n', /^431 /],
    ['GET /', 'x', /^431 /],
    ['GET / HTTP/1.1\r\nhost: x\r\na: ', 'x'.repeat(50), /^431 /],
    [chunked, '0', /^400 .*invalid-request/],
    [`${chunked}1;`, 'x'.repeat(50), /^400 .*invalid-request/],
    [`${chunked}0\r\n`, 'a: b\r\n', /^400 .*invalid-request/],
    [chunked, 'f'.repeat(20), /^400 .*invalid-request/],
  ]
  for (const [start, more, answer] of endless) {
    const line = new FakeConnection()
    let fed = start.length
    line.receive(start)
    while (line.socket.gone === 'no' && fed < 200_000) {
      line.receive(more)
      fed += more.length
      if (fed % 64 === 0) await line.rest()
    }
    await line.rest()
    const [only] = readAnswers(line.socket.sent, true).answers
    expect(`${only?.status} ${only?.body}`).toMatch(answer)
    line.connection.lost()
  }
  const idle = new FakeConnection()
  const lines = Buffer.from('\r\n'.repeat(30_000))
  for (let i = 0; i < 500; i++) idle.receive(lines)
  idle.receive('GET /after HTTP/1.1\r\nhost: x\r\n\r\n')
  await idle.rest()
  expect(idle.requests.length).toBe(1)
  idle.connection.lost()
})
