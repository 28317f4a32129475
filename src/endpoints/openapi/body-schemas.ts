/** Stored requests and answers of calls. */
import { anyObject, boolean, integer, nullable, oneOf, shape, text } from './schema.ts'
import type { Schema } from './schema.ts'

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
    request: nullable(shape({ ...side, headers: anyObject, changed_by_policies: boolean })),
    response: nullable(shape({ ...side, status: integer, streamed: boolean })),
    problem: nullable(text),
  }),
  DeletedBodies: shape({ deleted: integer }),
}
