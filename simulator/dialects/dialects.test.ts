/** Holds in every dialect: streamed and non-streamed answers agree, truth log, scripts, faults, determinism. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { startSimulator } from '../index.ts'
import type { Simulator } from '../index.ts'
import { sendRequest, requestAnswer, emptyAnswer, dialectClients } from '../testing/dialects.ts'
import type { ReceivedAnswer, DialectClient, TestRequest } from '../testing/dialects.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ seed: 5 })
})
beforeEach(() => simulator.reset())
afterAll(() => simulator.stop())

const says = (prompt: string, more: Partial<TestRequest> = {}): TestRequest => ({ prompt, stream: false, ...more })
const truth = () => simulator.truth.last()!

/** The events received of a stream with a fault, and whether it was complete. */
async function disturbed(
  dialect: DialectClient,
  fault: string,
): Promise<{ heard: ReceivedAnswer; isWhole: boolean; events: any[] }> {
  const response = await sendRequest(simulator, dialect, says('tokens: 12', { stream: true }), `sim#${fault}`)
  const heard = emptyAnswer()
  try {
    const events = dialect.events(Buffer.from(await response.arrayBuffer()))
    for (const event of events) dialect.collect(event, heard)
    return { heard, isWhole: true, events }
  } catch {
    return { heard, isWhole: false, events: [] }
  }
}

for (const [name, dialect] of Object.entries(dialectClients))
  describe(name, () => {
    test('streamed and non-streamed answers have the same content and the same billed tokens', async () => {
      for (const wish of [
        says('say: Grüße ✓ 😀, "quoted"\n'),
        says('use the tool', { tool: true }),
        says('say: so', { reasons: true }),
        says('tokens: 40'),
      ]) {
        const whole = await requestAnswer(simulator, dialect, wish)
        const billed = truth().billable
        expect([truth().finished, whole.inputTokens, whole.outputTokens]).toEqual([
          'complete',
          billed.inputTokens,
          billed.outputTokens,
        ])
        expect(whole.finish).not.toBe('')
        const streamed = await requestAnswer(simulator, dialect, { ...wish, stream: true })
        expect(streamed).toEqual(whole)
        expect(truth()).toMatchObject({
          stream: true,
          finished: 'complete',
          billable: billed,
          tokensSent: billed.outputTokens,
        })
        expect([whole.calls.length > 0, whole.reasoning !== '']).toEqual([wish.tool === true, wish.reasons === true])
      }
    })

    test('a script sets text, tool calls and reasoning', async () => {
      simulator.script({ text: 'call' }, { reasoning: 'so', toolCalls: [{ name: 'f', arguments: { a: [1] } }] })
      simulator.script({ text: 'talk' }, { reasoning: 'hm', text: 'hey' })
      for (const stream of [false, true]) {
        const called = await requestAnswer(simulator, dialect, says('call', { stream, reasons: true }))
        expect([called.calls, called.reasoning]).toEqual([[{ name: 'f', arguments: { a: [1] } }], 'so'])
        const talked = await requestAnswer(simulator, dialect, says('talk', { stream, reasons: true }))
        expect([talked.text, talked.reasoning]).toEqual(['hey', 'hm'])
      }
    })

    test('the same seed gives the same bytes, another seed others', async () => {
      const bytes = async (one: Simulator, stream: boolean) =>
        Buffer.from(await (await sendRequest(one, dialect, says('tell me', { stream }))).arrayBuffer()).toString(
          'latin1',
        )
      const [twin, stranger] = await Promise.all([startSimulator({ seed: 5 }), startSimulator({ seed: 6 })])
      for (const stream of [false, true]) {
        const own = await bytes(simulator, stream)
        expect(await bytes(twin, stream)).toBe(own)
        expect(await bytes(stranger, stream)).not.toBe(own)
      }
      await Promise.all([twin.stop(), stranger.stop()])
    })

    test('a cut stream is incomplete, and billed as far as it was sent', async () => {
      const response = await sendRequest(simulator, dialect, says('tokens: 40', { stream: true }), 'sim#cut;at=10')
      await expect(response.arrayBuffer()).rejects.toThrow()
      expect(truth()).toMatchObject({ finished: 'cut', eventsSent: 10 })
      expect(truth().billable.outputTokens).toBeLessThan(11)
      expect(truth().billable.outputTokens).toBeGreaterThan(4)
    })

    test('faults remove the finish reason, remove the usage, truncate the JSON', async () => {
      expect((await disturbed(dialect, 'no-finish')).heard.finish).toBe('')
      const silent = (await disturbed(dialect, 'no-usage')).heard
      expect([silent.text.length, silent.inputTokens, silent.outputTokens]).toEqual([48, undefined, undefined])
      expect((await disturbed(dialect, 'truncated-json')).isWhole).toBe(false)
      expect(truth().finished).toBe('cut')
      const whole = await (await sendRequest(simulator, dialect, says('say: x'), 'sim#no-finish')).json()
      const heard = emptyAnswer()
      dialect.collect(whole, heard)
      expect([heard.text, heard.finish]).toEqual(['x', ''])
    })

    test('an error in a stream has the format of the dialect', async () => {
      const { events, isWhole, heard } = await disturbed(dialect, 'error-in-stream;at=8')
      expect([isWhole, heard.text.length > 0]).toEqual([true, true])
      expect(JSON.stringify(events.at(-1))).toMatch(/error/i)
      expect((await disturbed(dialect, 'error-first')).events.length).toBe(1)
      expect((await sendRequest(simulator, dialect, says('x'), 'sim#error-first')).status).toBe(500)
    })

    test('single bytes, a close-delimited stream and a giant event carry the same answer', async () => {
      const calm = (await disturbed(dialect, 'token-ms=0')).heard
      for (const fault of ['split-utf8', 'close-delimited'])
        expect((await disturbed(dialect, fault)).heard).toEqual(calm)
      const { heard, isWhole } = await disturbed(dialect, 'giant-event;bytes=200000;at=4')
      expect([isWhole, heard]).toEqual([true, calm])
    })

    test('errors of every status have a message that names the cause', async () => {
      for (const status of [400, 401, 403, 404, 429, 500, 503]) {
        const response = await sendRequest(simulator, dialect, says('x'), `sim#status;code=${status}`)
        expect([response.status, (await response.text()).length > 10]).toEqual([status, true])
      }
      for (const [kind, word] of [
        ['quota', /quota|limit|balance|tokens per day/i],
        ['context-length', /too (?:long|many|large)|maximum|exceeds/i],
        ['content-filter', /policy|content|filter/i],
      ] as const) {
        const text = await (await sendRequest(simulator, dialect, says('x'), `sim#status;code=400;kind=${kind}`)).text()
        expect(text).toMatch(word)
      }
      const unknown = await sendRequest(simulator, dialect, says('x'), 'sim#nope')
      expect([unknown.status, await unknown.text()]).toEqual([400, expect.stringContaining('unknown fault')])
      // Not JSON.
      const path = dialect.path(false).replace('{model}', 'sim')
      const wrong = await fetch(`${simulator.url}${path}`, {
        method: 'POST',
        body: '{',
        headers: { authorization: 'Bearer k' },
      })
      expect([wrong.status, (await wrong.text()).length > 10]).toEqual([400, true])
    })
  })
