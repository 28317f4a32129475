/** Pictures, sounds and documents that an upstream's API does not take: one refusal, before anything is sent. */
import type { Part } from '../../core/hub/chat.ts'
import { unprocessable } from '../../core/errors.ts'
import type { GatewayError } from '../../core/errors.ts'

type Media = Extract<Part, { type: 'image' | 'audio' | 'document' }>

/** A 422 with the client's field, where it is known. `remedy` = what to send instead. */
export function refusedMedia(part: Media, remedy: string): GatewayError {
  const field = part.type === 'audio' ? part.field : 'field' in part.source ? part.source.field : undefined
  return unprocessable([
    {
      loc: ['body', ...(field ?? 'messages').split('.').map(step => (/^\d+$/.test(step) ? Number(step) : step))],
      msg: `this model takes no ${part.type} of the type "${typeOf(part).slice(0, 80)}"; send ${remedy}`,
      type: 'unsupported',
    },
  ])
}

function typeOf(part: Media): string {
  if (part.type === 'audio') return `audio/${part.format}`
  return ('mediaType' in part.source && part.source.mediaType) || part.type
}
