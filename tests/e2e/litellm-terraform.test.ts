/**
 * The community's Terraform provider for LiteLLM (ncecere/terraform-provider-litellm 2.0.1) makes, reads, changes and
 * deletes each kind of resource that exists here: its requests, in the order in which it sent them
 * (`tests/data/litellm/terraform-requests.json`), and what it has to read back after each, or its next plan would
 * differ from what was applied.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

interface Step {
  readonly method: string
  readonly path: string
  readonly body?: Json
  /** Placeholder -> where the answer has its value, for the steps behind. */
  readonly gives?: Record<string, string>
}

const entry = (name: string) =>
  `  - model_name: ${name}\n    litellm_params: { model: custom_openai/${name}, api_base: "{simulator}/v1", api_key: canary }\n`
const config = `model_list:\n${['gpt-4o', 'gpt-4o-mini', 'claude-3-sonnet'].map(entry).join('')}`

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({
    config,
    environment: {
      MODELGATE_ENCRYPTION_KEY: 'a key for tests of more than 32 characters',
      OPENAI_API_KEY: 'sk-from-the-environment',
    },
  })
})
afterAll(() => gateway?.stop())

const text = readFileSync(join(import.meta.dir, '../data/litellm/terraform-requests.json'), 'utf8')
const steps = JSON.parse(text) as Step[]

/** Every value under this name, at any depth. */
function valuesOf(value: unknown, name: string): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  const own = Object.hasOwn(value, name) ? [(value as Json)[name]] : []
  return [...own, ...Object.values(value).flatMap(one => valuesOf(one, name))]
}

/** Shown at most once, set for a while, or about the way of making it. */
const notRead = [
  'api_key',
  'key',
  'duration',
  'credential_values',
  'auto_create_key',
  'member',
  'db_model',
  'model_info.id',
]
const nested = ['litellm_params', 'model_info', 'guardrail']

/** What of a body the answer to a later read has to show. */
function written(body: Json, passedOver: readonly string[], path = ''): [name: string, value: unknown][] {
  return Object.entries(body).flatMap(([name, value]): [string, unknown][] => {
    const full = path + name
    if (passedOver.some(one => one.startsWith(`${full}:`)) || notRead.includes(name) || notRead.includes(full))
      return []
    if (nested.includes(name) && typeof value === 'object') return written(value as Json, passedOver, `${full}.`)
    const isNothing = typeof value === 'object' && value !== null && Object.keys(value).length === 0
    return isNothing ? [] : [[name, value]]
  })
}

const isRead = ({ method, path }: Step) => method === 'GET' || path === '/budget/info' || path === '/tag/info'
const kindOf = ({ path }: Step) => path.split('/')[1]
/** Deletions, and what is told of a part of an object, by reads of the whole one. */
const isOfPart = ({ method, path }: Step) => method === 'DELETE' || /delete$|block$|\/member_/.test(path)

test('each resource is made, read back as it was written, changed and deleted', async () => {
  const ids: Record<string, string> = {}
  const filled = (value: string) => value.replace(/\{(id\d+)\}/g, (_, name: string) => ids[name]!)
  let last: { step: Step; fields: [string, unknown][] } | undefined
  let compared = 0
  for (const raw of steps) {
    const { gives, ...step } = { ...(JSON.parse(filled(JSON.stringify(raw))) as Step), gives: raw.gives }
    const response = await fetch(gateway.url + step.path, {
      method: step.method,
      headers: { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' },
      ...(step.body && { body: JSON.stringify(step.body) }),
    })
    const answer = (await response.json()) as Json
    expect([step.method, step.path, response.ok, response.ok || answer]).toEqual([step.method, step.path, true, true])
    for (const [name, path] of Object.entries(gives ?? {}))
      ids[name] = String(path.split('.').reduce<unknown>((value, part) => (value as Json)[part], answer))
    if (!isRead(step)) {
      const warnings = (answer.warnings ?? []) as string[]
      const fields = isOfPart(step) || !step.body ? [] : written(step.body, warnings)
      last = { step, fields }
      continue
    }
    if (last && kindOf(step) === kindOf(last.step) && !step.path.includes('permissions_list')) {
      for (const [name, value] of last.fields) {
        expect([last.step.path, name, valuesOf(answer, name)]).toEqual([
          last.step.path,
          name,
          expect.arrayContaining([value]),
        ])
        compared++
      }
      last = undefined
    }
  }
  expect(compared).toBeGreaterThan(150)
  const left = await Promise.all(
    ['/tag/list', '/budget/list', '/team/list', '/organization/list'].map(async path =>
      (await gateway.admin(path)).json(),
    ),
  )
  expect(left).toEqual([[], [], [], []])
})
