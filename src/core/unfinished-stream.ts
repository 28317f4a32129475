import { GatewayError } from './errors.ts'

/**
 * The verdict over a stream whose bytes ended before every choice had its finish: it is not complete,
 * though no error came. Each relay asks for `complete` (`core/format.ts`, StreamRelay) and fails with this.
 */
export function unfinishedStream(): GatewayError {
  return new GatewayError('upstream-broken', 'the upstream ended its stream without finishing the answer')
}
