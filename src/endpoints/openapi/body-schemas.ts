/** Stored requests and answers of calls. */
import { anyObject, boolean, either, integer, nullable, oneOf, shape, text } from './schema.ts'
import type { Schema } from './schema.ts'

const nothing = { type: 'null' }
const side = {
  text,
  content_type: text,
  bytes: nullable(integer),
  cut: boolean,
  omitted: nullable(oneOf('binary', 'masked')),
}

/** By their names under `#/components/schemas/`. */
export const bodySchemas: Readonly<Record<string, Schema>> = {
  CallBodies: shape({
    request_id: text,
    key_id: text,
    user_id: nullable(text),
    team_id: nullable(text),
    organization_id: nullable(text),
    request: either(shape({ ...side, headers: anyObject, changed_by_policies: boolean }), nothing),
    response: either(shape({ ...side, status: integer, streamed: boolean }), nothing),
    problem: nullable(text),
  }),
  DeletedBodies: shape({ deleted: integer }),
}
