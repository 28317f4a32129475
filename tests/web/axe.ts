/**
 * axe in the pages of tests. Half of its time goes into colours, in each theme: what is behind a text, and the
 * contrast. That follows from computed styles, so that a browser is asked once for each combination of them, wherever
 * it is shown.
 */
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly target: unknown; readonly failureSummary?: string }[]
}

/** The helper that axe calls a check on. */
interface CheckHelper {
  data(reported: unknown): void
}

/** The part of axe that is used in the page; what begins with a line is its own, of the version that is pinned. */
interface Axe {
  run(context: object, options: object): Promise<{ violations: Violation[] }>
  readonly _audit: {
    readonly rules: { readonly id: string; matches(node: Element, ...more: unknown[]): boolean }[]
    readonly checks: Record<string, { evaluate(this: CheckHelper, node: Element, ...more: unknown[]): unknown }>
  }
}

/** What is kept in a document between the functions that run in it. */
interface Kept {
  readonly axe: Axe
  /** Elements whose combination of styles is new, with it. */
  newColours: { readonly texts: Map<Element, string>; readonly links: Map<Element, string> }
  /** Combinations that axe found a contrast for, and that it is enough. */
  readonly judgedColours: Set<string>
}

const ruleOfTexts = 'color-contrast'
const ruleOfLinks = 'link-in-text-block'

/** The half of its source that the other half is only written out from. */
const axeSource = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** Beside `main` and dialogs: the same on every page of a role. tests/web/every-page.test.ts looks at it. */
const frame = '[aria-label="Modelgate"]'

/** Combinations of styles whose colours are right, by the browser that has shown them. */
const rightColours = new WeakMap<Browser, Set<string>>()

interface AxeOptions {
  /** A menu or list is open: it stands beside the landmarks. */
  readonly popup?: boolean
  /** Nothing but colours: all that can differ between light and dark. */
  readonly isOfColours?: boolean
  /** Selectors of what was looked at before; by default the navigation. */
  readonly except?: readonly string[]
}

/**
 * What axe finds in the theme that the page has, and what it objects to in the colours of the other one, which the page
 * is left in: each change of theme draws everything anew.
 */
export async function violationsInBothThemes(page: Page, options: AxeOptions = {}): Promise<string[]> {
  const isDark = await page.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches)
  const [first, second] = isDark ? (['dark', 'light'] as const) : (['light', 'dark'] as const)
  const all = await violations(page, options)
  await page.emulateMedia({ colorScheme: second })
  const ofColours = await violations(page, { ...options, isOfColours: true })
  return [...all.map(one => `${first}: ${one}`), ...ofColours.map(one => `${second}: ${one}`)]
}

/**
 * What axe finds, one line each: rule, element, why. The guards that keep the focus in a popup are meant to be reached
 * by it, and lead it on.
 */
export async function violations(
  page: Page,
  { popup = false, isOfColours = false, except = [frame] }: AxeOptions = {},
): Promise<string[]> {
  // Its half megabyte goes into each document once.
  if (!(await page.evaluate(() => 'axe' in window))) {
    await page.evaluate(axeSource)
    await page.evaluate(followColours, [ruleOfTexts, ruleOfLinks] as const)
  }
  const browser = page.context().browser()!
  const right = rightColours.get(browser) ?? new Set()
  rightColours.set(browser, right)
  const exclude = ['[data-base-ui-focus-guard]', ...except]
  const [texts, links] = await page.evaluate(findNewColours, [[...right], exclude.join()] as const)
  const ofColours = [...(texts > 0 ? [ruleOfTexts] : []), ...(links > 0 ? [ruleOfLinks] : [])]
  if (isOfColours && ofColours.length === 0) return []
  const options = {
    resultTypes: ['violations'],
    // No rule of ours reads style sheets, which it would load once more.
    preload: { assets: ['media'] },
    rules: { ...(popup && { region: { enabled: false } }), ...(texts === 0 && { [ruleOfTexts]: { enabled: false } }) },
    ...(isOfColours && { runOnly: { type: 'rule', values: ofColours } }),
  }
  const { found, judged } = await page.evaluate(
    async ([where, how]) => {
      const { axe, judgedColours } = window as unknown as Kept
      const { violations: found } = await axe.run(where, how)
      return { found, judged: [...judgedColours] }
    },
    [{ exclude }, options] as const,
  )
  for (const one of judged) right.add(one)
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target} ${failureSummary}`),
  )
}

/**
 * Runs in the page, once after axe was loaded: the rule of texts looks at new colours alone, and what is right is kept.
 */
function followColours([ofTexts, ofLinks]: readonly [string, string]): void {
  const kept = window as unknown as { -readonly [Name in keyof Kept]: Kept[Name] }
  kept.newColours = { texts: new Map(), links: new Map() }
  kept.judgedColours = new Set()
  const { rules, checks } = kept.axe._audit
  const rule = rules.find(({ id }) => id === ofTexts)!
  const matches = rule.matches
  rule.matches = function (node, ...more) {
    return kept.newColours.texts.has(node) && matches.call(this, node, ...more)
  }
  const follow = (name: string, kind: 'texts' | 'links') => {
    const check = checks[name]!
    const evaluate = check.evaluate
    check.evaluate = function (node, ...more) {
      const colours = kept.newColours[kind].get(node)
      if (colours !== undefined && kept.judgedColours.has(colours)) return true
      let ratio: number | undefined
      const data = (reported: { contrastRatio?: number } | undefined) => {
        ratio = reported?.contrastRatio
        this.data(reported)
      }
      const result = evaluate.call({ ...this, data }, node, ...more)
      // A text that it does not see, for one, passes without a ratio.
      const isRight = result === true && (kind === 'links' || ratio !== undefined)
      if (isRight && colours !== undefined) kept.judgedColours.add(colours)
      return result
    }
  }
  follow(ofTexts, 'texts')
  // One of them is enough for the rule.
  follow(ofLinks, 'links')
  follow(`${ofLinks}-style`, 'links')
}

/**
 * Runs in the page: how many texts and links have colours that are not in `right`. A combination is what axe works a
 * contrast out from: of the text its colour, size and weight, of what lies behind it the colours down to one that
 * covers what is below, with what is transparent as a whole, and what is placed over it.
 */
function findNewColours([right, excluded]: readonly [readonly string[], string]): readonly [number, number] {
  interface Paint {
    readonly behind: string
    readonly groups: string
  }
  const { newColours } = window as unknown as Kept
  const { texts, links } = newColours
  texts.clear()
  links.clear()
  const isRight = new Set(right)
  const paints = new Map<Element | null, Paint>([[null, { behind: '', groups: '' }]])
  const placed: { readonly element: Element; readonly own: string; readonly box: DOMRect }[] = []
  const elements = document.querySelectorAll('html, body, body *:not(svg *), svg text, svg tspan')
  const paintOf = (element: Element | null): Paint => {
    const known = paints.get(element)
    if (known) return known
    const { backgroundColor, backgroundImage, opacity, filter, mixBlendMode, position } = getComputedStyle(element!)
    const below = paintOf(element!.parentElement)
    const own = backgroundImage === 'none' ? backgroundColor : `${backgroundColor} ${backgroundImage}`
    const isClear = own === 'rgba(0, 0, 0, 0)'
    const covers = backgroundImage === 'none' && !/rgba|\//.test(backgroundColor)
    const behind = isClear ? below.behind : covers ? own : `${below.behind}, ${own}`
    const asGroup = `${opacity} ${filter} ${mixBlendMode}`
    const groups = asGroup === '1 none normal' ? below.groups : `${below.groups} ${asGroup} over ${below.behind};`
    if (!isClear && position !== 'static')
      placed.push({ element: element!, own, box: element!.getBoundingClientRect() })
    paints.set(element, { behind, groups })
    return { behind, groups }
  }
  for (const element of elements) paintOf(element)
  const colourOf = (element: Element): string => {
    const style = getComputedStyle(element)
    const { behind, groups } = paintOf(element)
    const { color, fontSize, fontWeight, textShadow, textDecorationLine } = style
    return [color, fontSize, fontWeight, textShadow, textDecorationLine, groups, behind].join('|')
  }
  const hasText = (element: Element) =>
    element.matches('input, select, textarea') ||
    [...element.childNodes].some(one => one.nodeType === 3 && one.nodeValue!.trim() !== '')
  for (const element of elements) {
    if (!hasText(element) || element.closest(`:disabled, [aria-disabled=true], [inert], ${excluded}`)) continue
    const box = element.getBoundingClientRect()
    // What is one pixel wide is for screen readers.
    if (box.width <= 1 || box.height <= 1 || !element.checkVisibility({ visibilityProperty: true })) continue
    const over = placed.filter(
      ({ element: other, box: { left, right: end, top, bottom } }) =>
        left < box.right && end > box.left && top < box.bottom && bottom > box.top && !other.contains(element),
    )
    const colour = [colourOf(element), ...over.map(({ own }) => own)].join('|')
    if (!isRight.has(colour)) texts.set(element, colour)
    const block = element.matches('a[href], [role=link]') && element.closest('p, li, dd, td, div, main, section')
    const ofLink = block ? `link ${colour} in ${colourOf(block)}` : ''
    if (block && hasText(block) && !isRight.has(ofLink)) links.set(element, ofLink)
  }
  return [texts.size, links.size]
}
