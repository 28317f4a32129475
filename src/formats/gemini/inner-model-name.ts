/**
 * What the small operations share. Their bodies repeat the model's name inside, where the forward lane cannot
 * set it, so they are translated for every upstream, also for Google's own.
 */
import { GatewayError } from '../../core/errors.ts'
import type { ForwardRules } from '../../core/format.ts'

function neverForwarded(): never {
  throw new GatewayError('internal', 'bodies that name the model inside are never forwarded')
}

/** Every function throws `internal`: no deployment speaks the dialect `gemini-named-inside`, so none is ever called. */
export const noForward: ForwardRules = {
  modelInPath: true,
  edits: neverForwarded,
  answer: neverForwarded,
  relay: neverForwarded,
}
