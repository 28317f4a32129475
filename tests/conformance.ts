/** Checks bodies against OpenAI's own OpenAPI document, where it is at hand. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import Ajv2020 from 'ajv/dist/2020'
import addFormats from 'ajv-formats'

const file = join(import.meta.dir, '../../shared/spec/openai-openapi.json')
const available = existsSync(file)
if (!available)
  console.log('skipped: conformance to the OpenAI document (../shared/spec/openai-openapi.json is not here)')

let ajv: Ajv2020 | undefined

async function load(): Promise<Ajv2020> {
  if (ajv) return ajv
  const made = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
  addFormats(made)
  made.addSchema({ $id: 'openai', ...(withNull(await Bun.file(file).json()) as object) })
  return (ajv = made)
}

/** `nullable` is OpenAPI 3.0's word; the validator knows only JSON Schema. */
function withNull(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withNull)
  if (typeof schema !== 'object' || schema === null) return schema
  const { nullable, ...rest } = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, withNull(value)]))
  return nullable === true
    ? { anyOf: [rest, { type: 'null' }] }
    : typeof nullable === 'object'
      ? { nullable, ...rest }
      : rest
}

/** Throws with every deviation when `value` is not what the schema of that name says. */
export async function expectConforms(schema: string, value: unknown): Promise<void> {
  if (!available) return
  const validate = (await load()).getSchema(`openai#/components/schemas/${schema}`)
  if (!validate) throw new Error(`the document has no schema ${schema}`)
  if (validate(value)) return
  // OpenAI itself sends null here, and one client insists on the key (research: @openrouter/sdk).
  const errors = (validate.errors ?? []).filter(error => error.instancePath !== '/system_fingerprint')
  if (errors.length === 0) return
  const problems = errors.map(error => `${error.instancePath} ${error.message}`)
  throw new Error(`not a ${schema}:\n${problems.join('\n')}\n${JSON.stringify(value).slice(0, 2000)}`)
}

/** The events of a server-sent stream, `[DONE]` included as text. */
export function streamData(text: string): unknown[] {
  return text
    .split(/\n\n/)
    .filter(event => event.startsWith('data:'))
    .map(event => event.slice(5).trim())
    .map(data => (data === '[DONE]' ? data : JSON.parse(data)))
}
