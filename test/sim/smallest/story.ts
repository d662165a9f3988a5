/** Makes a story that breaks something shorter for as long as it still breaks the same thing: delta debugging (Zeller and Hildebrandt, 2002). */
import type { StoryEvent } from '../story/story-events.js';

/** `breaks` tells whether a story still breaks it. The result is a part of the story, in its order; none of its events can be left out alone. */
export async function smallestStory(
  story: readonly StoryEvent[], breaks: (story: readonly StoryEvent[]) => Promise<boolean>,
): Promise<readonly StoryEvent[]> {
  let rest = story;
  for (let parts = 2; rest.length > 0;) {
    const size = Math.ceil(rest.length / parts);
    let smaller: readonly StoryEvent[] | undefined;
    for (let from = 0; from < rest.length && smaller === undefined; from += size) {
      const without = [...rest.slice(0, from), ...rest.slice(from + size)];
      if (await breaks(without)) smaller = without;
    }
    if (smaller !== undefined) {
      rest = smaller;
      parts = Math.max(2, parts - 1);
    } else if (size === 1) {
      break;
    } else {
      parts = Math.min(rest.length, 2 * parts);
    }
  }
  return rest;
}
