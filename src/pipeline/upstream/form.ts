/** A client's multipart form, encoded again for an upstream: some fields changed, the files as they are. */
import type { BodyPiece } from '../../core/transport.ts'
import type { Upload, UploadPart } from '../../core/upload.ts'
import type { Edit } from '../../lib/json/json-body.ts'
import { fieldName, multipartEnd, multipartHead } from '../../lib/multipart.ts'

interface WrittenForm {
  readonly contentType: string
  readonly body: readonly BodyPiece[]
}

const lineEnd = Buffer.from('\r\n', 'latin1')

/**
 * `edits` name fields as the JSON view of the form does. The boundary has 122 random bits for each
 * call, so that no content sent by a client contains it.
 */
export function editedForm(upload: Upload, edits: readonly Edit[]): WrittenForm {
  const boundary = `modelgate-${crypto.randomUUID()}`
  const changed = new Set(edits.map(edit => ('set' in edit ? edit.set : edit.remove)))
  const body: BodyPiece[] = []
  const write = (part: Pick<UploadPart, 'name' | 'filename' | 'contentType' | 'content'>) =>
    body.push(Buffer.from(multipartHead(boundary, part), 'utf8'), ...part.content, lineEnd)
  // Fields first, so that an upstream knows the model before it reads megabytes.
  for (const edit of edits) if ('set' in edit) write(field(edit.set, edit.json))
  const kept = upload.parts.filter(part => !changed.has(fieldName(part.name)))
  for (const part of kept) if (part.filename === undefined) write(part)
  for (const part of kept) if (part.filename !== undefined) write(part)
  body.push(Buffer.from(multipartEnd(boundary), 'latin1'))
  return { contentType: `multipart/form-data; boundary=${boundary}`, body }
}

/** A string is sent without its quotes, anything else as JSON. */
function field(name: string, json: string): Pick<UploadPart, 'name' | 'filename' | 'contentType' | 'content'> {
  const value: unknown = JSON.parse(json)
  const text = typeof value === 'string' ? value : json
  return { name, filename: undefined, contentType: undefined, content: [Buffer.from(text, 'utf8')] }
}
