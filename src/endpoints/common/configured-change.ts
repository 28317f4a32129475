/** What the endpoints of models, credentials and access groups share. */
import type { Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { anyObject, dateTime, described, integer, named, shape, text } from '../openapi/schema.ts'

/** Who made and changed an object that is made by API, and its version. */
export const changes = {
  version: described('Send it with a change, which is refused with 409 if the object has another by then.', integer),
  created_at: dateTime,
  created_by: text,
  updated_at: dateTime,
  updated_by: text,
}

/** Fields of which the secret ones are masked. */
export const masked = described('Secrets are shown as `********`; sent back so, they stay as they are.', anyObject)
/** A sentence says what was done. */
export const doneMessageSchema = named('DoneMessage', () => shape({ message: text }))

/**
 * To be called before a change: reads what other processes have changed. Rejects with `forbidden` where the
 * configuration file switches changes by API off, `overloaded` when the database is unreachable.
 */
export async function prepareChange({ current, configured, checks }: Services): Promise<void> {
  if (current.settings.storesModels) {
    await checks.load()
    return configured.refresh()
  }
  throw new GatewayError(
    'forbidden',
    'models are not made by API here: general_settings.store_model_in_db is false; change the configuration file',
  )
}

/** As in `2026-11-21T08:00:00.000Z`. */
export const dateOf = (ms: number): string => new Date(ms).toISOString()
