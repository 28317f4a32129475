/** Files and batches (OpenAI API reference, "Files", "Batch"): the upstream's objects under the gateway's ids. */
import {
  anyObject,
  constant,
  described,
  integer,
  listOf,
  nullable,
  oneOf,
  pageOf,
  reference,
  shape,
  text,
  unixSeconds,
} from './schema.ts'
import type { Schema } from './schema.ts'

const moment = nullable(unixSeconds)

/** By their names under `#/components/schemas/`. */
export const fileAnswerSchemas: Readonly<Record<string, Schema>> = {
  File: shape(
    {
      id: text,
      object: constant('file'),
      bytes: nullable(integer),
      created_at: unixSeconds,
      filename: text,
      purpose: text,
      status: described('`uploaded`, `processed` or `error`, or a word of the upstream.', text),
    },
    { expires_at: moment, status_details: nullable(text) },
  ),
  FileList: pageOf(reference('File')),
  DeletedFile: shape({ id: text, object: constant('file'), deleted: constant(true) }),
  Batch: shape(
    {
      id: text,
      object: constant('batch'),
      status: oneOf(
        'validating',
        'failed',
        'in_progress',
        'finalizing',
        'completed',
        'expired',
        'cancelling',
        'cancelled',
      ),
      input_file_id: text,
    },
    {
      endpoint: text,
      model: nullable(text),
      completion_window: text,
      output_file_id: nullable(text),
      error_file_id: nullable(text),
      errors: nullable(shape({}, { object: text, data: listOf(anyObject) })),
      created_at: unixSeconds,
      in_progress_at: moment,
      expires_at: moment,
      finalizing_at: moment,
      completed_at: moment,
      failed_at: moment,
      expired_at: moment,
      cancelling_at: moment,
      cancelled_at: moment,
      request_counts: nullable(shape({ total: integer, completed: integer, failed: integer })),
      usage: nullable(anyObject),
      metadata: nullable(anyObject),
    },
  ),
  DeletedBatch: shape({ id: text, object: constant('batch'), deleted: constant(true) }),
  BatchList: pageOf(reference('Batch'), nullable(text)),
}
