/** A thing that users do, at one gateway. */
import type { Answer, Ask, Gateway } from '../answer.ts'

export interface Scenario {
  /** Its area and what is done: `chat: two choices`. */
  readonly name: string
  /** Without a database there are no virtual keys with limits, no teams and no blocks. */
  readonly needsDatabase?: boolean
  /** The answer that is compared. Rejects when a step before it is refused. */
  run(gateway: Gateway): Promise<Answer>
}

/** One request with the key of the administrator. */
export const asked = (name: string, ask: Ask): Scenario => ({ name, run: gateway => gateway.ask(ask) })

/** One request with a new virtual key of these fields. */
export const askedWithKey = (name: string, fields: object, ask: Ask): Scenario => ({
  name,
  needsDatabase: Object.keys(fields).length > 0,
  run: async gateway => gateway.ask({ ...ask, key: await gateway.key(fields) }),
})

/** A small chat. */
export const chat = (fields: object = {}): Ask => ({
  path: '/v1/chat/completions',
  body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'say: hello there' }], ...fields },
})
