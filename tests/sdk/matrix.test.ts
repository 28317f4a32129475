/**
 * Official clients against every provider of the simulator, through a whole gateway: text, stream, tools, pictures,
 * errors, leaving. What the client was told is compared with what the simulator says it sent and would bill.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { TruthEntry } from '../../simulator/index.ts'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { anthropic } from './matrix/anthropic.ts'
import type { Connect, SdkClient } from './matrix/client.ts'
import { googleThree, googleTwo } from './matrix/google.ts'
import { mistral } from './matrix/mistral.ts'
import { groq, openaiChat } from './matrix/openai.ts'
import { openaiResponses } from './matrix/openai-responses.ts'
import { matrixConfig, providerRows } from './matrix/providers.ts'
import type { ProviderRow } from './matrix/providers.ts'
import { until } from '../support/until.ts'

const connects: readonly Connect[] = [openaiChat, openaiResponses, anthropic, googleTwo, googleThree, mistral, groq]
const hello = 'hello there, Grüße ✓ 😀'

interface Cell {
  readonly client: SdkClient
  readonly row: ProviderRow
  readonly gateway: Gateway
}

async function failure(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

/** The last call that arrived; it went where this provider is. */
function arrived({ gateway, row }: Cell): TruthEntry {
  const entry = gateway.simulator.truth.last()!
  expect(entry.path).toMatch(row.path)
  return entry
}

const scenarios: Readonly<Record<string, (cell: Cell) => Promise<void>>> = {
  async text(cell) {
    const said = await cell.client.say(cell.row.name, `say: ${hello}`)
    const { billable } = arrived(cell)
    expect(said).toEqual({ text: hello, stopped: true, ...billable })
  },

  async stream(cell) {
    const pieces: string[] = []
    const said = await cell.client.stream({
      model: cell.row.name,
      said: `say: ${hello}`,
      onText: piece => pieces.push(piece),
    })
    const { billable, stream, finished } = arrived(cell)
    expect([pieces.join(''), pieces.length > 1, stream, finished]).toEqual([hello, true, true, 'complete'])
    expect(said).toMatchObject({
      text: hello,
      stopped: true,
      ...(!cell.client.silentStreams && billable),
    })
  },

  async 'tool loop'(cell) {
    const { city, answer } = await cell.client.useTool(cell.row.name, false)
    expect([typeof city, answer]).toEqual(['string', 'The tool said: sunny, 21 degrees'])
    arrived(cell)
  },

  async 'tool loop, streamed'(cell) {
    const { city, answer } = await cell.client.useTool(cell.row.name, true)
    expect([typeof city, answer]).toEqual(['string', 'The tool said: sunny, 21 degrees'])
    arrived(cell)
  },

  async image(cell) {
    expect(await cell.client.see(cell.row.name)).toStartWith('I see 1 image. ')
    arrived(cell)
  },

  async 'an upstream that refuses'(cell) {
    const error = await failure(cell.client.say(`${cell.row.name}-limited`, 'x'))
    expect(cell.client.statusOf(error)).toBe(429)
    expect(arrived(cell).status).toBe(429)
  },

  async 'a stream that is cut'(cell) {
    let text = ''
    await failure(
      cell.client.stream({ model: `${cell.row.name}-cut`, said: 'tokens: 60', onText: piece => (text += piece) }),
    )
    expect(text.length).toBeGreaterThan(0)
    expect(arrived(cell).finished).toBe('cut')
  },

  async 'a stream that fails'(cell) {
    let text = ''
    await failure(
      cell.client.stream({ model: `${cell.row.name}-failing`, said: 'tokens: 60', onText: piece => (text += piece) }),
    )
    expect(text.length).toBeGreaterThan(0)
    expect(arrived(cell).finished).toBe('cut')
  },

  async abort(cell) {
    const controller = new AbortController()
    const wish = {
      model: `${cell.row.name}-slow`,
      said: 'tokens: 1000',
      signal: controller.signal,
      onText: () => controller.abort(),
    }
    await failure(cell.client.stream(wish))
    const entry = arrived(cell)
    await until(() => entry.finished === 'client-closed', 'the upstream was left')
    expect(entry.tokensSent).toBeLessThan(100)
  },
}

/** Cells that cannot be, as `client / provider / scenario`, with the reason; `*` = all. */
const impossible: Readonly<Record<string, string>> = {
  '@mistralai/mistralai / * / tool loop, streamed':
    'this client refuses a piece of a call without its name, and OpenAI names a call only once',
}

function reasonAgainst(client: string, provider: string, scenario: string): string | undefined {
  const fits = (word: string | undefined, name: string): boolean => word === '*' || word === name
  const found = Object.keys(impossible).find(cell => {
    const [one, two, three] = cell.split(' / ')
    return fits(one, client) && fits(two, provider) && fits(three, scenario)
  })
  return found === undefined ? undefined : impossible[found]
}

let gateway: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({ config: matrixConfig() })
  key = await gateway.key()
})
afterAll(() => gateway?.stop())

for (const connect of connects) {
  const { name } = connect('http://127.0.0.1:1', 'for its name')
  describe(name, () => {
    let client: SdkClient
    beforeAll(() => {
      client = connect(gateway.url, key)
    })
    for (const row of providerRows)
      for (const [scenario, run] of Object.entries(scenarios)) {
        const reason = reasonAgainst(name, row.name, scenario)
        test.skipIf(reason !== undefined)(`${row.name}: ${scenario}${reason ? ` (${reason})` : ''}`, () =>
          run({ client, row, gateway }),
        )
      }

    test('a model that does not exist, a key that nobody knows', async () => {
      expect(client.statusOf(await failure(client.say('nope', 'x')))).toBe(404)
      expect(client.statusOf(await failure(connect(gateway.url, 'sk-stranger').say('openai', 'x')))).toBe(401)
    })
  })
}
