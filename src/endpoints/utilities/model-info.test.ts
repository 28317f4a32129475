/** What model information shows of an address, to whom. */
import { expect, test } from 'bun:test'
import { toResponse } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { Services } from '../../core/endpoint.ts'
import type { HttpRequest } from '../../core/request.ts'
import { shownParams } from '../../config/models/shown-params.ts'
import { modelInfo } from './model-info.ts'

const deployment = {
  id: 'd',
  modelName: 'm',
  mode: 'chat',
  info: {},
  prices: null,
  origin: { kind: 'environment', where: 'X' },
  target: { provider: { name: 'p' }, model: 'x' },
  writtenParams: shownParams({
    model: 'p/x',
    api_base: 'http://user:p@ss-canary@host:1/v1?key=query-canary',
    api_key: 'key-canary',
    extra_headers: { authorization: 'header-canary' },
    temperature: 0.5,
  }),
}
// Configurations are refused with such an address; what the environment says is not.
const settings = { accessGroups: {}, deployments: [deployment] }
const services = {
  current: {
    settings,
    models: { of: () => ({ settings, deployments: settings.deployments, patternedNames: () => [] }) },
  },
  configured: { objects: () => [] },
  clock: { epochMs: () => 0 },
} as unknown as Services

test.each([
  ['proxy_admin', 'http://[redacted]@host:1/v1?key=[redacted]'],
  ['user', undefined],
])('%s is shown the address as %p', async (role, address) => {
  const caller = { role, key: { models: [] } } as unknown as Caller
  const answer = await modelInfo.handle({ query: new URLSearchParams() } as HttpRequest, services, caller)
  const text = await toResponse(answer).text()
  expect(text).not.toContain('canary')
  const [{ proxy_params: params }] = (JSON.parse(text) as { data: [{ proxy_params: object }] }).data
  expect(params).toEqual(
    address === undefined
      ? { model: 'p/x' }
      : { model: 'p/x', api_base: address, extra_headers: { authorization: '********' }, temperature: 0.5 },
  )
})
