/** What changes in every body on the forward lane. */
import type { ForwardQuirks } from '../../core/provider.ts'
import type { Edit, JsonBody } from '../../lib/json/json-body.ts'
import { gatewayFields } from './gateway-fields.ts'

/**
 * The gateway's own fields go, refused ones go and are named in `dropped`,
 * renamed ones move; where the client also sent the new name, that one counts.
 */
export function commonEdits(body: JsonBody, quirks: ForwardQuirks): { edits: Edit[]; dropped: string[] } {
  const edits: Edit[] = []
  const dropped: string[] = []
  for (const name of body.names()) {
    if (gatewayFields.has(name)) edits.push({ remove: name })
    else if (quirks.drop?.includes(name)) {
      edits.push({ remove: name })
      dropped.push(name)
    } else if (quirks.rename && Object.hasOwn(quirks.rename, name)) {
      const target = quirks.rename[name]!
      edits.push({ remove: name })
      if (!body.has(target)) edits.push({ set: target, json: body.rawText(name)! })
    }
  }
  return { edits, dropped }
}
