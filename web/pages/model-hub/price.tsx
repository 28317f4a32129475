import { formatMoney } from '../../lib/format.ts'
import { t } from '../../strings/index.ts'

const million = 1_000_000

/** US dollars a million tokens; null = the price is not known, which is not zero. */
export function Price({ perToken }: { readonly perToken: number | null | undefined }) {
  if (perToken === null || perToken === undefined) return <span className="text-muted">{t('money.unknown')}</span>
  return (
    <span className="numbers whitespace-nowrap" title={`${perToken} USD / token`}>
      {formatMoney(perToken * million)}
    </span>
  )
}
