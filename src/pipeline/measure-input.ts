/**
 * A closer bound of a call's input than its bytes, for calls that budgets have little room for: counted with the
 * vocabulary of the model where it is here, else by the largest ratios of its family.
 */
import { tokenRatios } from '../../rules/token-ratios.ts'
import type { Call, MeasuredInput } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import type { CallInput } from '../core/hub/input.ts'
import { inputTexts } from '../core/hub/input-texts.ts'
import type { ByteCounts } from '../lib/tokens/byte-classes.ts'
import { encodingOf } from '../lib/tokens/tokenizer.ts'
import type { Measure, Tokenizer } from '../lib/tokens/tokenizer.ts'

/** A call waits no longer for its count: then its bytes are the bound. */
const waitMs = 5000

/** Counts the texts on the tokenizer's thread; undefined = they cannot be measured, or not in time. */
export async function measureInput(
  tokenizer: Pick<Tokenizer, 'measure'>,
  call: Call,
): Promise<MeasuredInput | undefined> {
  const found = inputTexts(call, readInput(call))
  if (!found) return undefined
  const others = [...call.fallbacksInOrder, ...call.contextWindowFallbacks, ...call.contentPolicyFallbacks]
  const models = [...call.candidates, ...others.flatMap(one => one.deployments)].map(modelOf)
  const encodings = new Set(models.map(encodingOf).filter(one => one !== undefined))
  const measure = await tokenizer.measure([...encodings], found.texts, { owner: call.caller.key.id, waitMs })
  if (!measure) return undefined
  return { tokensAt: deployment => found.otherTokens + textTokens(measure, modelOf(deployment)) }
}

/** undefined = only an upstream of the client's dialect can read it. */
function readInput(call: Call): CallInput | undefined {
  try {
    return call.input()
  } catch (error) {
    if (error instanceof GatewayError && error.kind !== 'internal') return undefined
    throw error
  }
}

const modelOf = ({ info, target }: Deployment): string =>
  typeof info.base_model === 'string' ? info.base_model : target.model

function textTokens({ tokens, bytes }: Measure, model: string): number {
  const encoding = encodingOf(model)
  return (encoding && tokens[encoding]) ?? ratioTokens(bytes, model)
}

function ratioTokens(bytes: ByteCounts, model: string): number {
  const ratios = tokenRatios(model)
  const { word, dense, space, gap, two, eastern, three, four } = ratios
  const tokens =
    bytes.word * word +
    bytes.dense * dense +
    bytes.space * space +
    bytes.gap * gap +
    bytes.two * two +
    bytes.eastern * eastern +
    bytes.three * three +
    bytes.four * four
  return Math.ceil(tokens)
}
