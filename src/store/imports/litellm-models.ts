/** Brings models and credentials that were made in LiteLLM by API or on its pages; their secrets are encrypted anew. */
import { randomUUIDv7 } from 'bun'
import { openFields } from '../../access/imports/litellm-secrets.ts'
import type { LitellmRow } from '../../access/imports/litellm-rows.ts'
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import type { ConfigurationChecks, ConfiguredContent, ConfiguredStore } from '../../core/objects/configured-objects.ts'
import type { Actor } from '../../core/tenancy/tenancy.ts'
import type { ImportCount } from './litellm-import.ts'
import type { LitellmTables } from './litellm-tables.ts'
import { objectOf } from '../../lib/json/json-values.ts'

interface ModelImport {
  readonly configured: ConfiguredStore
  /** Of the gateway's configuration file, with the objects of `configured`. */
  readonly checks: ConfigurationChecks
  /** The key that LiteLLM encrypts under; undefined = not known. */
  readonly saltKey: string | undefined
  readonly actor: Actor
}

/**
 * Credentials first: models name them. What is there already, under its id or name, stays as it is. What cannot be
 * served here is left out, with the reason. Throws what the database throws.
 */
export async function importLitellmModels(tables: LitellmTables, parts: ModelImport): Promise<ImportCount[]> {
  await parts.configured.refresh()
  const credentials = await importEach(tables.credentials, 'credential', parts, row => credentialOf(row, parts))
  const models = await importEach(tables.models, 'model', parts, row => modelOf(row, parts))
  return [
    { kind: 'credentials', ...credentials },
    { kind: 'models', ...models },
  ]
}

async function importEach(
  rows: readonly LitellmRow[],
  kind: 'credential' | 'model',
  { configured, actor }: ModelImport,
  contentOf: (row: LitellmRow) => ConfiguredContent,
): Promise<Omit<ImportCount, 'kind'>> {
  let [made, kept] = [0, 0]
  const problems: string[] = []
  for (const row of rows) {
    const name = String(kind === 'model' ? row.model_name : row.credential_name)
    const isThere = configured
      .objects()
      .some(one => one.kind === kind && (kind === 'model' ? one.id === row.model_id : one.name === name))
    if (isThere) {
      kept++
      continue
    }
    try {
      await configured.insert(contentOf(row), actor)
      made++
      if (row.blocked === true) await configured.insert(blockOf(row), actor)
    } catch (thrown) {
      const error = toGatewayError(thrown)
      if (error.status >= 500) throw thrown
      problems.push(`${kind} ${name}: ${error.message}`)
    }
  }
  return { made, kept, problems }
}

function opened(value: unknown, saltKey: string | undefined): Readonly<Record<string, unknown>> {
  const found = openFields(objectOf(value), saltKey)
  if ('problem' in found) throw new GatewayError('invalid-request', found.problem)
  return found.fields
}

function credentialOf(row: LitellmRow, { checks, saltKey }: ModelImport): ConfiguredContent {
  const { body, secrets } = checks.checkCredential(opened(row.credential_values, saltKey), undefined)
  const name = String(row.credential_name)
  const values = { values: body, info: objectOf(row.credential_info) }
  return { kind: 'credential', id: randomUUIDv7(), name, body: values, secrets }
}

/** Of `model_info`, what says where the row is in LiteLLM's database. */
const rowFacts = ['id', 'db_model', 'created_at', 'created_by', 'updated_at', 'updated_by']

function modelOf(row: LitellmRow, { checks, saltKey }: ModelImport): ConfiguredContent {
  const id = String(row.model_id)
  const present = ([, value]: [string, unknown]) => value !== null
  const info = Object.entries(objectOf(row.model_info)).filter(([name]) => !rowFacts.includes(name))
  const { deployment, body, secrets } = checks.checkModel(
    {
      model_name: row.model_name,
      litellm_params: Object.fromEntries(Object.entries(opened(row.litellm_params, saltKey)).filter(present)),
      model_info: Object.fromEntries(info.filter(present)),
    },
    id,
    undefined,
  )
  return { kind: 'model', id, name: deployment.modelName, body, secrets }
}

function blockOf(row: LitellmRow): ConfiguredContent {
  const id = String(row.model_id)
  const body = { model_name: String(row.model_name), reason: 'It was switched off in LiteLLM.' }
  return { kind: 'model_block', id, name: id, body, secrets: null }
}
