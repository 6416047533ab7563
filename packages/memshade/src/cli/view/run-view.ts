import { createPaint, type Paint, wantsColors } from "../../show/report/terminal/common/paint.ts";
import { render } from "../../show/report/terminal/view/render.ts";
import { update } from "../../show/report/terminal/view/update.ts";
import { type ViewContents, ViewModel } from "../../show/report/terminal/view/view-model.ts";
import { initialState, type ViewState } from "../../show/report/terminal/view/view-state.ts";
import { FullScreen } from "./terminal.ts";

/** Shows what is in a run until somebody has seen enough. The result is the exit code. */
export function runView(contents: ViewContents): Promise<number> {
  return new Promise((resolve, reject) => {
    const paint: Paint = createPaint(wantsColors("auto", true, process.env));
    const model = new ViewModel(contents);
    let state: ViewState = initialState(model);
    const show = (): void => {
      const rendered = render(model, state, terminal.size, paint);
      state = rendered.state;
      terminal.show(rendered.lines);
    };
    const end = (exitCode: number): void => {
      terminal.close();
      resolve(exitCode);
    };
    /** What goes wrong in a listener would be told over the screen. */
    const guarded =
      <Args extends unknown[]>(action: (...args: Args) => void) =>
      (...args: Args): void => {
        try {
          action(...args);
        } catch (error) {
          terminal.close();
          reject(error);
        }
      };
    const terminal: FullScreen = new FullScreen({
      key: guarded((key: string) => {
        state = update(model, state, key, terminal.size);
        if (state.isDone) end(0);
        else show();
      }),
      resize: guarded(show),
      end,
      fail: guarded((error: unknown) => {
        throw error;
      }),
    });
    guarded(() => {
      terminal.open();
      show();
    })();
  });
}
