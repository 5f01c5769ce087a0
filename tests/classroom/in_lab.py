"""Scripts for a page with JupyterLab in it: a slider that is moved, and code that a kernel runs."""

MOVE = """async (steps) => {
    const slider = document.querySelector(".memlab-view input[type=range]");
    const root = slider.closest("[data-shown]");
    const shown = (due) => new Promise((done, fail) => {
        const watch = new MutationObserver(() => {
            if (Number(root.dataset.shown) !== due) return;
            watch.disconnect();
            const drawn = performance.now();
            requestAnimationFrame(() => done([drawn, performance.now()]));
        });
        watch.observe(root, {attributes: true, attributeFilter: ["data-shown"]});
        setTimeout(() => fail(new Error(`${due} was not shown`)), 10000);
    });
    const times = [];
    slider.scrollIntoView({block: "center"});
    for (let step = 0; step < steps; step++) {
        const due = Number(slider.value) + (Number(slider.value) < Number(slider.max) ? 1 : -1);
        const seen = shown(due), start = performance.now();
        slider.value = due;
        slider.dispatchEvent(new Event("input", {bubbles: true}));
        times.push((await seen).map((time) => time - start));
        await new Promise((done) => setTimeout(done, 200));
    }
    return times;
}"""
"""Moves the first slider of the page as a hand that presses a key four times a second: the
milliseconds until the page has the picture of each value, and until the next frame shows it. The
browsers are on this machine too, which those of a class are not."""
RUN = """async (code) => {
    const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    const future = kernel.requestExecute({code});
    let printed = "";
    future.onIOPub = (message) => {
        const content = message.content;
        printed += content.text ?? (content.evalue ? content.ename + ": " + content.evalue : "");
    };
    const ended = new Promise((done) => kernel.statusChanged.connect((_, status) => {
        if (["autorestarting", "restarting", "dead"].includes(status)) done("ended");
    }));
    return await Promise.race([future.done.then(() => printed, () => "ended"), ended]);
}"""
"""Runs code in the kernel of the notebook: what it prints, or "ended" where the kernel ended."""
ALL_RUN = """() => {
    const panel = jupyterapp.shell.currentWidget;
    const code = panel.content.widgets.filter((cell) => cell.model.type === "code"
        && cell.model.sharedModel.getSource().trim());
    return panel.sessionContext.session.kernel.status === "idle"
        && code.every((cell) => cell.model.executionCount !== null);
}"""
"""True once every cell with code was run, and the kernel waits."""
