import { expect, test } from 'bun:test'
import { ModelIndex } from '../access/models/model-index.ts'
import { concreteModel } from '../config/models/model-facts.ts'
import { readSettings } from '../config/read-settings.ts'
import type { Caller, VirtualKey } from '../core/caller.ts'
import { GatewayError } from '../core/errors.ts'
import { providers } from '../providers/index.ts'
import { chooseUpstream } from './upstreams.ts'
import type { FileTarget } from './upstreams.ts'

const text = `
model_list:
  - { model_name: hidden-one, proxy_params: { model: openai/a, api_key: k1 } }
  - { model_name: hidden-two, proxy_params: { model: openai/b, api_key: k2 } }
  - { model_name: "many/*", proxy_params: { model: "openai/*", api_key: k3 } }
router_settings: { model_group_alias: { nice-one: hidden-one, nice-two: hidden-two } }
`
const { settings } = readSettings({ text, environment: {}, providers })
const index = new ModelIndex(settings!, concreteModel)
const callerFor = (...models: string[]): Caller => ({ role: 'key', key: { id: 'k', models } as unknown as VirtualKey })

function refusalOf(caller: Caller, target: Partial<FileTarget> = {}): string {
  try {
    return `taken by ${chooseUpstream({ caller, models: index }, { models: [], provider: undefined, ...target }).modelName}`
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown
    return thrown.message.split(': ').at(-1)!
  }
}

test('the choices of an upstream have the names by which the key may call them', () => {
  expect(refusalOf(callerFor())).toBe("'hidden-one' (openai), 'hidden-two' (openai), 'many/*' (openai)")
  expect(refusalOf(callerFor('nice-one', 'nice-two'))).toBe("'nice-one' (openai), 'nice-two' (openai)")
  expect(refusalOf(callerFor('nice-one', 'hidden-two', 'many/x'))).toBe(
    "'hidden-two' (openai), 'nice-one' (openai), 'many/x' (openai)",
  )
  expect(refusalOf(callerFor('nice-one', 'nice-two'), { provider: 'groq' })).toBe(
    "'nice-one' (openai), 'nice-two' (openai)",
  )
  expect(refusalOf(callerFor('nice-*'), { models: ['nice-one'], provider: 'groq' })).toBe("'nice-one' (openai)")
  expect(refusalOf(callerFor('nice-one'))).toBe('taken by hidden-one')
})

test('a drained upstream gets no new file where there is another', () => {
  const drained = `
model_list:
  - { model_name: m, proxy_params: { model: openai/a, api_key: k1, weight: 0 } }
  - { model_name: m, proxy_params: { model: openai/a, api_key: k2 } }
  - { model_name: alone, proxy_params: { model: openai/b, api_key: k3, weight: 0 } }
`
  const read = readSettings({ text: drained, environment: {}, providers }).settings!
  const keyOf = (model: string) =>
    chooseUpstream(
      { caller: callerFor(), models: new ModelIndex(read, concreteModel) },
      { models: [model], provider: undefined },
    ).target.apiKey!.reveal()
  expect([keyOf('m'), keyOf('alone')]).toEqual(['k2', 'k3'])
})
